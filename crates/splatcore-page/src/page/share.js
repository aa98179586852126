// The dialog with link and embed code, the button for the whole screen, and the help that a phone
// shows once.
import { linkTo } from './address.js';

const element = (id) => document.getElementById(id);

function kept(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(`splatcore ${name}`);
    localStorage.setItem(`splatcore ${name}`, value);
  } catch { /* a browser without storage */ }
  return null;
}

// `view()` gives the text of the view that is shown.
export function connectSharing(title, view) {
  const dialog = element('sharing');
  element('share').onclick = () => {
    const link = linkTo(view(), false);
    element('no-link').hidden = Boolean(link);
    element('links').hidden = !link;
    if (link) {
      element('link').value = link;
      // Its text only: an element outside of the document loads nothing.
      const frame = document.createElement('iframe');
      Object.assign(frame, {
        src: linkTo(view(), true), title, width: 800, height: 500, allow: 'fullscreen; xr-spatial-tracking',
      });
      frame.frameBorder = '0';
      element('embed').value = frame.outerHTML;
    }
    dialog.showModal();
  };
  for (const button of dialog.querySelectorAll('[data-copies]')) {
    button.onclick = async () => {
      const field = element(button.dataset.copies);
      field.select();
      let done = false;
      try {
        await navigator.clipboard.writeText(field.value);
        done = true;
      } catch {
        // Without a secure address there is only the older way.
        done = document.execCommand('copy');
      }
      button.textContent = done ? 'Copied' : 'Press Ctrl+C';
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    };
  }
  element('sharing-close').onclick = () => dialog.close();
  dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); };
}

export function connectFullscreen() {
  const button = element('fullscreen');
  button.hidden = !document.fullscreenEnabled;
  button.onclick = () => {
    if (document.fullscreenElement) document.exitFullscreen();
    else document.documentElement.requestFullscreen().catch(() => {});
  };
  document.addEventListener('fullscreenchange', () => {
    const full = Boolean(document.fullscreenElement);
    button.ariaPressed = full;
    button.title = button.ariaLabel = full ? 'Leave the whole screen' : 'Fill the screen';
  });
}

// What fingers do, on the first visit with a touch screen.
export function showTouchHelp() {
  if (!matchMedia('(pointer: coarse)').matches || kept('touch help')) return;
  element('touch-help').hidden = false;
  addEventListener('pointerdown', () => {
    element('touch-help').hidden = true;
    kept('touch help', 'seen');
  }, { once: true, capture: true });
}
