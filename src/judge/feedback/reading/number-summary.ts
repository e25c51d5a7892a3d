// Summary of the numbers at one payload path. The moments are computed one number at a time. Percentiles and a
// histogram need all numbers, so they exist only if there is room to keep all numbers.

export interface NumberSummary {
  readonly count: number;
  readonly mean: number;
  readonly min: number;
  readonly max: number;
  /** Sample standard deviation (divided by count - 1); null for a single number. */
  readonly standardDeviation: number | null;
  /** Percentiles and histogram; null if not all numbers were kept. */
  readonly spread: NumberSpread | null;
}

export interface NumberSpread {
  readonly p50: number;
  readonly p95: number;
  /** Counts in bins of equal width from min to max; the last bin includes max. */
  readonly histogram: readonly number[];
}

/** Number of histogram bins. */
export const partCount = 20;

/** How many more numbers may be kept. Several collectors share it. */
export interface NumberRoom {
  left: number;
}

export class NumberCollector {
  readonly #room: NumberRoom;
  #kept: Float64Array<ArrayBuffer> | null = new Float64Array(16);
  #count = 0;
  #sum = 0;
  /** Rounding error of the sum so far, which Neumaier's algorithm adds at the end. */
  #lost = 0;
  /** Running mean. */
  #mean = 0;
  /** Sum of squared deviations from the running mean. */
  #squares = 0;
  #min = Infinity;
  #max = -Infinity;

  constructor(room: NumberRoom) {
    this.#room = room;
  }

  /**
   * Adds a number. The sum uses Neumaier's algorithm (1974) and the squares Welford's (1962), so that large values
   * cause no loss of precision in either.
   */
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

  /** Returns the summary; null if there are no numbers. */
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

  /**
   * Returns the mean. Returns the running mean instead if the sum overflowed, which it does if numbers are close to
   * the largest double.
   */
  #meanOfAll(): number {
    const mean = (this.#sum + this.#lost) / this.#count;
    return Number.isFinite(mean) ? mean : this.#mean;
  }

  #keep(value: number): void {
    if (this.#kept === null) return;
    if (this.#room.left === 0) {
      // Percentiles of only some of the numbers would be misleading. If one number cannot be kept, all kept numbers
      // are therefore dropped.
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
  // Half of the range, because the difference of two doubles may overflow.
  const width = max / 2 - min / 2;
  for (const value of sorted) {
    const place = width === 0 ? 0 : (value / 2 - min / 2) / width;
    histogram[Math.min(Math.floor(place * partCount), partCount - 1)] += 1;
  }
  return { p50: percentile(sorted, 0.5), p95: percentile(sorted, 0.95), histogram };
}

/** Interpolates linearly between the two nearest values: type 7 of Hyndman and Fan (1996), the default of NumPy and R. */
function percentile(sorted: Float64Array, part: number): number {
  const place = (sorted.length - 1) * part;
  const [below, above] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  const share = place - Math.floor(place);
  return below * (1 - share) + above * share;
}
