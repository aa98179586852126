// The view in the page's address: behind `#v=` position, rotation (w, x, y, z of world to camera),
// field of view, distance to what the camera turns about, and width over height, so that a narrower
// window shows the whole width. `embed`, behind `?` or `#`, leaves the panel out.
import { axes, quaternion } from './keyframes.js';

const fragment = () => new URLSearchParams(location.hash.slice(1));

export const embedded = () => fragment().has('embed') || new URLSearchParams(location.search).has('embed');

export function viewText({ position, rotation, fov }, distance, aspect) {
  const numbers = [...position, ...quaternion(rotation), fov, distance, aspect];
  return numbers.map((v) => Number(v.toPrecision(6))).join(',');
}

// The view that the address names, or nothing.
export function addressedView() {
  const numbers = (fragment().get('v') ?? '').split(',').map((text) => (text.trim() ? Number(text) : NaN));
  const turn = numbers.slice(3, 7);
  const [fov, distance, aspect] = numbers.slice(7);
  const sound = numbers.length === 10 && numbers.every(Number.isFinite) && Math.hypot(...turn) > 0.1
    && fov >= 1 && fov <= 170 && distance > 0 && aspect > 0;
  return sound ? { position: numbers.slice(0, 3), rotation: axes(turn), fov, distance, aspect } : null;
}

// Puts a view's text into the address, without a new entry of the history.
export function setAddress(text) {
  const flag = fragment().has('embed') ? 'embed&' : '';
  try {
    history.replaceState(null, '', `#${flag}v=${text}`);
  } catch { /* a frame without an address of its own */ }
}

// This page's address with a view, or nothing if others cannot open it.
export function linkTo(text, embed) {
  if (!location.protocol.startsWith('http')) return null;
  const link = new URL(location.href);
  link.searchParams.delete('embed');
  link.hash = `${embed ? 'embed&' : ''}v=${text}`;
  return link.href;
}
