// Summarizes the numbers at one payload path. Mean and standard deviation are computed one number at a time.
// Percentiles and a histogram need all numbers, so they exist only if there is memory to keep all of them.

export interface NumberSummary {
  readonly count: number;
  readonly mean: number;
  readonly min: number;
  readonly max: number;
  /** Sample standard deviation (divided by count - 1); null for a single number. */
  readonly standardDeviation: number | null;
  /** Percentiles and histogram; null if there was no room to keep all numbers. */
  readonly spread: NumberSpread | null;
}

export interface NumberSpread {
  readonly p50: number;
  readonly p95: number;
  /** Number of values in each of the bins, which have equal width from min to max. The last bin includes max. */
  readonly histogram: readonly number[];
}

/** Number of bins of a histogram. */
export const partCount = 20;

/** Counts how many more numbers may be kept. Several collectors share one count. */
export interface NumberRoom {
  left: number;
}

export class NumberCollector {
  readonly #room: NumberRoom;
  #kept: Float64Array<ArrayBuffer> | null = new Float64Array(16);
  #count = 0;
  #sum = 0;
  /** Rounding error of the sum so far. Neumaier's algorithm adds it to the sum at the end. */
  #lost = 0;
  /** Mean of the numbers so far, by Welford's algorithm. */
  #mean = 0;
  /** Sum of squared deviations of the numbers so far from their mean. */
  #squares = 0;
  #min = Infinity;
  #max = -Infinity;

  constructor(room: NumberRoom) {
    this.#room = room;
  }

  /**
   * Adds a number. Neumaier's algorithm (1974) for the sum and Welford's (1962) for the squares lose no precision even
   * if values are large.
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

  /** Returns the summary of all numbers; null if there are none. */
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
   * Returns the mean of all numbers. Uses the running mean if the sum overflowed, as it does for numbers close to the
   * largest double.
   */
  #meanOfAll(): number {
    const mean = (this.#sum + this.#lost) / this.#count;
    return Number.isFinite(mean) ? mean : this.#mean;
  }

  #keep(value: number): void {
    if (this.#kept === null) return;
    if (this.#room.left === 0) {
      // Once a number cannot be kept, drops all kept numbers, because percentiles of only some numbers would be
      // misleading.
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
  // Computes half of the width, because the difference of two doubles may overflow.
  const width = max / 2 - min / 2;
  for (const value of sorted) {
    const place = width === 0 ? 0 : (value / 2 - min / 2) / width;
    histogram[Math.min(Math.floor(place * partCount), partCount - 1)] += 1;
  }
  return { p50: percentile(sorted, 0.5), p95: percentile(sorted, 0.95), histogram };
}

/**
 * Returns a percentile, linearly interpolated between the two nearest values: type 7 of Hyndman and Fan (1996), which
 * is the default of NumPy and R.
 */
function percentile(sorted: Float64Array, part: number): number {
  const place = (sorted.length - 1) * part;
  const [below, above] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  const share = place - Math.floor(place);
  return below * (1 - share) + above * share;
}
