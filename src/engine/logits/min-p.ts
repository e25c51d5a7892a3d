// Min-p: tokens less probable than this part of the most probable one go. By scores: log(p) is at most so far below.
import type { LogitsRow } from "./logits-row.ts";

export function keepMinP(row: LogitsRow): void {
  const { minP, temperature } = row.options.sampling;
  row.narrow({ logit: row.max + temperature * Math.log(minP), lastId: Infinity });
}
