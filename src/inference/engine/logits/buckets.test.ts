import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, type Random } from "../../../base/domain/random.ts";
import { ascending, kthGreatest } from "./buckets.ts";

/** Kinds of logits to sort; each function draws one logit. */
const kinds: Readonly<Record<string, (random: Random) => number>> = {
  spread: (random) => random.uniform(),
  "all but the same": (random) => 1 + random.uniform() * 1e-6,
  equal: () => -3,
  "two levels": (random) => random.index(2),
  "zeros of both signs": (random) => (random.index(2) === 0 ? 0 : -0),
  "one far away": (random) => (random.index(200) === 0 ? -1e30 : random.uniform()),
  infinite: (random) => (random.index(3) === 0 ? -Infinity : random.uniform()),
};

for (const [name, make] of Object.entries(kinds)) {
  test(`orders scores as sorting does: ${name}`, () => {
    for (const count of [1, 63, 64, 65, 300, 5000]) {
      const random = seededRandom(name, count);
      const logits = Float32Array.from({ length: count }, () => make(random));
      const ids = [...logits.keys()];
      const sorted = ids.toSorted((a, b) => (logits[a] === logits[b] ? b - a : logits[a] - logits[b]));
      assert.deepEqual([...ascending(ids, logits)], sorted);
      for (const k of [1, 2, Math.ceil(count / 2), count]) {
        if (k > count) continue;
        const expected = logits[sorted[count - k]];
        assert.ok(kthGreatest(logits, k) === expected, `${k} of ${count}`);
      }
    }
  });
}
