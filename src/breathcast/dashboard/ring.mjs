// A buffer of fixed size: the oldest makes room for the newest, so that a page left open for days stays as small.
export class Ring {
  #items;
  #first = 0;

  constructor(capacity) {
    if (!(capacity >= 1)) throw new RangeError("a ring holds at least one thing");
    this.#items = new Array(Math.floor(capacity));
    this.length = 0;
  }

  get capacity() {
    return this.#items.length;
  }

  push(item) {
    const end = (this.#first + this.length) % this.capacity;
    this.#items[end] = item;
    if (this.length < this.capacity) this.length += 1;
    else this.#first = (this.#first + 1) % this.capacity;
  }

  // The oldest is at 0; negative places count from the newest. Undefined where there is nothing.
  at(place) {
    const index = place < 0 ? this.length + place : place;
    if (index < 0 || index >= this.length) return undefined;
    return this.#items[(this.#first + index) % this.capacity];
  }

  clear() {
    this.#items.fill(undefined);
    this.#first = 0;
    this.length = 0;
  }

  // The first place whose item has at least this `time`; `length` if there is none. Times must ascend.
  placeOf(time) {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at(middle).time < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
