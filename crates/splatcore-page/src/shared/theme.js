// Light or dark: what the system prefers, until somebody chooses. The browser remembers a choice.

const KEY = 'splatcore theme';

// `button` switches; `changed` is told of every change, for what is drawn by hand.
export function theme(button, changed = () => {}) {
  const system = matchMedia('(prefers-color-scheme: light)');
  let chosen = null;
  try {
    chosen = localStorage.getItem(KEY);
  } catch { /* no storage: the choice lives as long as the page */ }
  const show = () => {
    const light = chosen ? chosen === 'light' : system.matches;
    document.documentElement.dataset.theme = light ? 'light' : 'dark';
    button.title = button.ariaLabel = light ? 'Change to dark colours' : 'Change to light colours';
    changed();
  };
  button.onclick = () => {
    chosen = document.documentElement.dataset.theme === 'light' ? 'dark' : 'light';
    try {
      localStorage.setItem(KEY, chosen);
    } catch { /* see above */ }
    show();
  };
  system.addEventListener('change', show);
  show();
}
