// Sums usage by day. Has no side effects.
import type { Usage } from "../../client/api.ts";
import { costSum } from "../../client/cost-text.ts";

export interface DayOfUsage {
  /** `YYYY-MM-DD` in UTC. */
  readonly day: string;
  readonly tokens: number;
  readonly requests: number;
  readonly cost: number | null;
  readonly currency: string | null;
}

const dayMs = 86_400_000;

type Counted = Pick<
  Usage,
  "day" | "requests" | "prompt_tokens" | "completion_tokens" | "training_tokens" | "cost" | "currency"
>;

/** Returns the end of a y axis: the least number of the form 1, 2 or 5 times a power of ten that is not below. */
export function axisEnd(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 10)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((end) => end >= value) ?? value;
}

/** Returns the last `dayCount` days until today, from old to new, including days without usage. */
export function daysOf(rows: readonly Counted[], today: Date, dayCount: number): readonly DayOfUsage[] {
  return Array.from({ length: dayCount }, (_, index) => {
    const day = new Date(today.getTime() - (dayCount - 1 - index) * dayMs).toISOString().slice(0, 10);
    const own = rows.filter((row) => row.day === day);
    return {
      day,
      tokens: own.reduce(
        (sum, row) => sum + row.prompt_tokens + row.completion_tokens + row.training_tokens,
        0,
      ),
      requests: own.reduce((sum, row) => sum + row.requests, 0),
      ...costSum(own),
    };
  });
}
