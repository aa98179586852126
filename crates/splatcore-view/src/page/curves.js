// The curves of a run: loss on the left axis (logarithmic), PSNR on the right, over the steps.

const MARGIN = { left: 44, right: 36, top: 14, bottom: 30 };

// Values at which an axis has ticks, at most `count` + 1 of 1, 2 or 5 times a power of ten.
export function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-6); i * step <= high + step * 1e-6; i++) found.push(i * step);
  return found;
}

// Ticks of a logarithmic axis: 1, 2 and 5 times powers of ten, or the two ends if there are none.
export function logTicks(low, high) {
  const found = [];
  for (let e = Math.floor(Math.log10(low)); 10 ** e <= high; e++) {
    for (const factor of [1, 2, 5]) {
      const value = factor * 10 ** e;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  if (found.length < 2) return [low, high];
  return found.length > 6 ? found.filter((v) => Math.abs(Math.log10(v) % 1) < 1e-6) : found;
}

const short = (v) => (v >= 1000 ? `${+(v / 1000).toPrecision(3)}k` : `${+v.toPrecision(2)}`);

export function drawCurves(canvas, { losses, psnr, iterations }) {
  const ratio = Math.min(devicePixelRatio, 2);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (!width) return;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  context.font = '10.5px system-ui, sans-serif';
  context.lineWidth = 1;
  const [left, right] = [MARGIN.left, width - MARGIN.right];
  const [top, bottom] = [MARGIN.top, height - MARGIN.bottom];
  const x = (step) => left + (step / Math.max(iterations, 1)) * (right - left);
  const text = (what, px, py, align, fill = colour('muted')) => {
    context.fillStyle = fill;
    context.textAlign = align;
    context.fillText(what, px, py);
  };
  const rule = (x0, y0, x1, y1) => {
    context.strokeStyle = colour('line');
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
  };
  rule(left, bottom, right, bottom);
  for (const step of ticks(0, Math.max(iterations, 1), 4)) {
    rule(x(step), bottom, x(step), bottom + 3);
    text(short(step), x(step), bottom + 13, 'center');
  }
  text('steps', (left + right) / 2, height - 3, 'center');
  const plot = (points, key, scale, ticksOf, labelX, align) => {
    if (points.length === 0) return;
    const values = points.map((point) => point[1]);
    let [low, high] = [Math.min(...values), Math.max(...values)];
    if (low === high) [low, high] = [low * 0.95, high * 1.05 || 1];
    const y = (v) => bottom - ((scale(v) - scale(low)) / (scale(high) - scale(low) || 1)) * (bottom - top);
    for (const tick of ticksOf(low, high)) {
      text(short(tick), labelX, y(tick) + 3.5, align, colour(key));
      if (align === 'right') rule(left - 3, y(tick), right, y(tick));
    }
    context.strokeStyle = colour(key);
    context.lineWidth = 1.5;
    context.beginPath();
    points.forEach(([step, value]) => context.lineTo(x(step), y(value)));
    context.stroke();
    if (points.length === 1) context.fillRect(x(points[0][0]) - 2, y(values[0]) - 2, 4, 4);
    context.lineWidth = 1;
  };
  plot(losses.filter(([, v]) => v > 0), 'curve-loss', Math.log, logTicks, left - 6, 'right');
  plot(psnr, 'curve-psnr', (v) => v, (low, high) => ticks(low, high, 3), right + 5, 'left');
  if (losses.length) text('loss', 2, 9, 'left', colour('curve-loss'));
  if (psnr.length) text('PSNR, dB', width - 2, 9, 'right', colour('curve-psnr'));
}
