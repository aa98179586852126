// The page's side of the sorting worker: one order is under way at a time, the newest direction is
// next.
import { dot } from './camera.js';

// Splats of a row of an order, and what fills up the last row.
export const ROW = 4096;
export const NONE = 0xffffffff;

export class Sorting {
  // `source`: the text of sort.js. `capacity`: indices that there may be. `arrived(order, count,
  // parts)` takes an order that is valid until it returns, and the parts that it is of.
  constructor(source, capacity, arrived, failed) {
    this.arrived = arrived;
    this.forward = null; // of the order at hand
    this.wanted = null;
    this.parts = []; // to be sorted, and their number; `at`: that of the order at hand
    this.number = 0;
    this.at = -1;
    this.told = -1; // the number that the worker knows
    this.spare = new Uint32Array(ROW * Math.max(1, Math.ceil(capacity / ROW)));
    this.ms = 0;
    this.waiting = [];
    this.sent = new Map(); // parts by number, while an order of them is under way
    const address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    this.worker = new Worker(address);
    this.worker.onerror = () => failed(new Error('the browser forbids the page its worker'));
    this.worker.onmessage = ({ data }) => this.take(data);
    this.worker.postMessage({ capacity });
  }

  // Tells the worker where Gaussians are; `first` is the index of the first of them.
  place(first, means) {
    const copy = means.slice();
    this.worker.postMessage({ first, means: copy }, [copy.buffer]);
  }

  // From the next order on, these parts are shown ({ chunk, offset, count }).
  show(parts) {
    this.parts = parts;
    this.number++;
    if (this.wanted) this.next();
  }

  // Whether a chunk is in the order at hand, or in one to come.
  needs(chunk, drawn) {
    const has = (parts) => parts.some((part) => part.chunk === chunk);
    return has(drawn) || has(this.parts) || [...this.sent.values()].some(has);
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

  get fresh() {
    return this.forward && this.at === this.number && same(this.forward, this.wanted);
  }

  next() {
    if (!this.spare || this.fresh) return;
    const { spare: order, wanted: forward, number, parts } = this;
    this.spare = null;
    this.sent.set(number, parts);
    const news = this.told !== number && {
      ranges: Uint32Array.from(parts.flatMap(({ chunk, offset, count }) => [chunk.first + offset, count])),
    };
    this.told = number;
    this.worker.postMessage({ forward, order, number, ...news }, [order.buffer]);
  }

  take({ forward, order, count, number, ms }) {
    this.forward = forward;
    this.spare = order;
    this.at = number;
    this.ms = ms;
    this.arrived(order, count, this.sent.get(number));
    this.sent.delete(number);
    this.settle();
    this.next();
  }

  settle() {
    if (!this.forward) return;
    const [ready, rest] = [[], []];
    for (const wait of this.waiting) {
      // An order that a newer direction has overtaken is not waited for.
      const over = (same(wait.forward, this.forward) && this.at === this.number)
        || !same(wait.forward, this.wanted);
      (over ? ready : rest).push(wait);
    }
    this.waiting = rest;
    ready.forEach(({ done }) => done());
  }
}

const same = (a, b) => a[0] === b[0] && a[1] === b[1] && a[2] === b[2];
