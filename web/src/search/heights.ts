// The heights of many rows: measured ones, and estimates of the others, with their sums.

export class Heights {
  private readonly heights: Float64Array;
  private readonly isMeasured: Uint8Array;
  private readonly sums: Float64Array;
  private isStale = true;

  constructor(readonly count: number, estimate: (at: number) => number, before?: Heights) {
    this.heights = new Float64Array(count);
    this.isMeasured = new Uint8Array(count);
    this.sums = new Float64Array(count + 1);
    for (let at = 0; at < count; at++) {
      const known = before !== undefined && at < before.count && before.isMeasured[at] === 1;
      this.heights[at] = known ? before.heights[at]! : estimate(at);
      this.isMeasured[at] = known ? 1 : 0;
    }
  }

  isKnown(at: number): boolean {
    return this.isMeasured[at] === 1;
  }

  /** Say how high a row is; whether that is news. */
  measured(at: number, height: number): boolean {
    this.isMeasured[at] = 1;
    if (Math.abs(this.heights[at]! - height) < 0.5) return false;
    this.heights[at] = height;
    this.isStale = true;
    return true;
  }

  /** How far below the top of all a row begins; `count` gives the end of the last. */
  top(at: number): number {
    if (this.isStale) {
      for (let one = 0; one < this.count; one++) this.sums[one + 1] = this.sums[one]! + this.heights[one]!;
      this.isStale = false;
    }
    return this.sums[at] ?? 0;
  }

  get total(): number {
    return this.top(this.count);
  }

  /** The row at a distance from the top. */
  at(distance: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.top(middle + 1) <= distance) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
