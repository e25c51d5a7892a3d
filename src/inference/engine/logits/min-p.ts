// Min-p: tokens less probable than this part of the most probable one go. By scores: log(p) is at most so far below.
import type { LogitsRow } from "./logits-row.ts";

export function keepMinP(row: LogitsRow): void {
  row.narrow(row.max + row.temperature * Math.log(row.options.sampling.minP));
}
