// The page's side of the sorting worker: one order is under way at a time, the newest direction is
// next.
import { dot } from './camera.js';

// Splats of a row of an order, and what fills up the last row.
export const ROW = 4096;
export const NONE = 0xffffffff;

export class Sorting {
  // `source`: the text of sort.js. `means`: x, y, z of each Gaussian. `arrived(order)` takes an
  // order that is valid until it returns.
  constructor(source, means, arrived, failed) {
    this.arrived = arrived;
    this.count = means.length / 3;
    this.forward = null; // of the order at hand
    this.wanted = null;
    this.spare = new Uint32Array(ROW * Math.max(1, Math.ceil(this.count / ROW))).fill(NONE);
    this.ms = 0;
    this.waiting = [];
    const address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    this.worker = new Worker(address);
    this.worker.onerror = () => failed(new Error('the browser forbids the page its worker'));
    this.worker.onmessage = ({ data }) => this.take(data);
    const copy = means.slice();
    this.worker.postMessage({ means: copy }, [copy.buffer]);
  }

  // Cosine of the angle between a direction and that of the order at hand; -1 if there is none.
  agreement(forward) {
    return this.forward ? dot(this.forward, forward) : -1;
  }

  // Resolves when the order at hand is that of this direction.
  sorted(forward) {
    return new Promise((done) => {
      this.waiting.push({ forward, done });
      this.want(forward);
    });
  }

  want(forward) {
    if (this.wanted && same(this.wanted, forward)) return this.settle();
    this.wanted = forward;
    this.next();
    return this.settle();
  }

  next() {
    if (!this.spare || (this.forward && same(this.forward, this.wanted))) return;
    const order = this.spare;
    this.spare = null;
    this.worker.postMessage({ forward: this.wanted, order }, [order.buffer]);
  }

  take({ forward, order, ms }) {
    this.forward = forward;
    this.spare = order;
    this.ms = ms;
    this.arrived(order);
    this.settle();
    this.next();
  }

  settle() {
    if (!this.forward) return;
    const [ready, rest] = [[], []];
    for (const wait of this.waiting) {
      // An order that a newer direction has overtaken is not waited for.
      const over = same(wait.forward, this.forward) || !same(wait.forward, this.wanted);
      (over ? ready : rest).push(wait);
    }
    this.waiting = rest;
    ready.forEach(({ done }) => done());
  }
}

const same = (a, b) => a[0] === b[0] && a[1] === b[1] && a[2] === b[2];
