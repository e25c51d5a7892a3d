// What is said of the numbers at one place of payloads: moments as they come, percentiles and a histogram of all of them
// where there is room to keep them.

export interface NumberSummary {
  readonly count: number;
  readonly mean: number;
  readonly min: number;
  readonly max: number;
  /** Of a sample (divided by count - 1); null of a single number. */
  readonly standardDeviation: number | null;
  /** Null where not all numbers were kept. */
  readonly spread: NumberSpread | null;
}

export interface NumberSpread {
  readonly p50: number;
  readonly p95: number;
  /** How many lie in each of equal parts of the range from min to max; the last part holds max as well. */
  readonly histogram: readonly number[];
}

/** Of a histogram. */
export const partCount = 20;

/** Room for numbers, which several share. */
export interface NumberRoom {
  left: number;
}

export class NumberCollector {
  readonly #room: NumberRoom;
  #kept: Float64Array<ArrayBuffer> | null = new Float64Array(16);
  #count = 0;
  #sum = 0;
  /** What the sum lost. */
  #lost = 0;
  /** Of those so far. */
  #mean = 0;
  /** The sum of squared differences from it. */
  #squares = 0;
  #min = Infinity;
  #max = -Infinity;

  constructor(room: NumberRoom) {
    this.#room = room;
  }

  /** The sum by Neumaier's method (1974), the squares by Welford's (1962): neither loses digits to what is large. */
  add(value: number): void {
    this.#keep(value);
    const sum = this.#sum + value;
    this.#lost += Math.abs(this.#sum) >= Math.abs(value) ? this.#sum - sum + value : value - sum + this.#sum;
    this.#sum = sum;
    this.#count += 1;
    const difference = value - this.#mean;
    this.#mean += difference / this.#count;
    this.#squares += difference * (value - this.#mean);
    this.#min = Math.min(this.#min, value);
    this.#max = Math.max(this.#max, value);
  }

  /** Null of no numbers. */
  summary(): NumberSummary | null {
    if (this.#count === 0) return null;
    return {
      count: this.#count,
      mean: this.#meanOfAll(),
      min: this.#min,
      max: this.#max,
      standardDeviation: this.#count === 1 ? null : Math.sqrt(this.#squares / (this.#count - 1)),
      spread: this.#kept === null ? null : spreadOf(this.#kept.subarray(0, this.#count).sort()),
    };
  }

  /** That of numbers near the greatest double has no sum. */
  #meanOfAll(): number {
    const mean = (this.#sum + this.#lost) / this.#count;
    return Number.isFinite(mean) ? mean : this.#mean;
  }

  #keep(value: number): void {
    if (this.#kept === null) return;
    if (this.#room.left === 0) {
      // What is kept of some says nothing of all.
      this.#room.left += this.#count;
      this.#kept = null;
      return;
    }
    this.#room.left -= 1;
    if (this.#count === this.#kept.length) {
      const larger = new Float64Array(2 * this.#kept.length);
      larger.set(this.#kept);
      this.#kept = larger;
    }
    this.#kept[this.#count] = value;
  }
}

function spreadOf(sorted: Float64Array): NumberSpread {
  const [min, max] = [sorted[0], sorted[sorted.length - 1]];
  const histogram = Array.from({ length: partCount }, () => 0);
  // Halved, since the width of a range of doubles may be more than any double.
  const width = max / 2 - min / 2;
  for (const value of sorted) {
    const place = width === 0 ? 0 : (value / 2 - min / 2) / width;
    histogram[Math.min(Math.floor(place * partCount), partCount - 1)] += 1;
  }
  return { p50: percentile(sorted, 0.5), p95: percentile(sorted, 0.95), histogram };
}

/** Between the two nearest, in proportion: type 7 of Hyndman and Fan (1996), as NumPy and R have it. */
function percentile(sorted: Float64Array, part: number): number {
  const place = (sorted.length - 1) * part;
  const [below, above] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  const share = place - Math.floor(place);
  return below * (1 - share) + above * share;
}
