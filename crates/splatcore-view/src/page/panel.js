// What the panel shows: facts, the run, curves.

const element = (id) => document.getElementById(id);
const number = (n) => Math.round(n).toLocaleString('en');

export function showScene(info) {
  document.title = info.title;
  element('title').textContent = info.title;
  element('training').hidden = !info.training;
  element('control').hidden = !(info.training && info.control);
  element('cameras').hidden = info.cameras.length === 0;
  element('sh').max = info.sh_degree;
  element('sh').value = info.sh_degree;
  const select = element('camera');
  select.replaceChildren(new Option('none', ''));
  info.cameras.forEach(({ name, held_out: held }, i) =>
    select.append(new Option(held ? `${name} (held out)` : name, i)));
}

export function showStatus(status, training) {
  element('facts').textContent = `${number(status.gaussians)} Gaussians`;
  if (!training) return;
  element('progress').value = status.iterations ? status.step / status.iterations : 0;
  const parts = [`step ${number(status.step)} of ${number(status.iterations)}`];
  if (status.loss !== null) parts.push(`loss ${status.loss.toFixed(4)}`);
  if (status.ended) parts.push('finished');
  else if (status.paused) parts.push('paused');
  else parts.push(`${status.steps_per_second.toFixed(1)} steps/s`, `${time(status.seconds_left)} left`);
  element('run').textContent = parts.join(', ');
  element('pause').textContent = status.paused ? 'Go on' : 'Pause';
  for (const id of ['pause', 'stop']) element(id).disabled = status.ended;
  curves(status);
}

function time(seconds) {
  const s = Math.round(seconds);
  if (s < 90) return `${s} s`;
  return s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;
}

function curves({ losses, psnr, iterations }) {
  const canvas = element('curves');
  const context = canvas.getContext('2d');
  context.clearRect(0, 0, canvas.width, canvas.height);
  const plot = (points, colour, scale) => {
    if (points.length === 0) return;
    const values = points.map((p) => scale(p[1]));
    const [low, high] = [Math.min(...values), Math.max(...values)];
    context.strokeStyle = colour;
    context.beginPath();
    points.forEach(([step], i) => {
      const y = (values[i] - low) / (high - low || 1);
      context.lineTo((step / iterations) * canvas.width, (1 - y) * (canvas.height - 4) + 2);
    });
    context.stroke();
  };
  plot(losses, '#4af', Math.log);
  plot(psnr, '#8f8', (v) => v);
  const best = psnr.length ? `; green: held-out PSNR, now ${psnr.at(-1)[1].toFixed(2)} dB` : '';
  element('legend').textContent = losses.length ? `blue: log of the loss${best}` : '';
}

// The legend of the colours of tiles, or none.
export function showHeat(scale, visible) {
  element('heat').hidden = !visible;
  if (!visible) return;
  const { colours, most, tile } = scale;
  element('heat').firstElementChild.textContent =
    `Gaussians in the list of each tile of ${tile}x${tile} pixels`;
  const stops = colours.map(([r, g, b]) => `rgb(${r} ${g} ${b})`);
  element('heat-bar').style.background = `linear-gradient(to right, ${stops.join(', ')})`;
  element('heat-ticks').replaceChildren(...colours.map((_, i) => {
    const tick = document.createElement('span');
    const last = i === colours.length - 1;
    tick.textContent = number((1 + most) ** (i / (colours.length - 1)) - 1) + (last ? '+' : '');
    return tick;
  }));
}

export function showTimes(header, trip, share) {
  const ms = (us) => (us / 1000).toFixed(1);
  element('times').textContent = `${header.width}x${header.height}: render ${ms(header.render)} ms, `
    + `encode ${ms(header.encode)} ms, round trip ${trip.toFixed(0)} ms`
    + (share < 1 ? `; ${Math.round(100 * share)} % size while moving` : '');
}

export function say(text) {
  element('message').textContent = text;
}
