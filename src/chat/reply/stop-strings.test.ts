// Stop strings: what is cut, what is held back, and that both do not depend on how text arrives.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createStopScanner } from "./stop-strings.ts";

/** Everything shown, and what matched. */
function scan(
  stops: readonly string[],
  pieces: readonly string[],
): { readonly shown: string[]; readonly matched: string | null } {
  const scanner = createStopScanner(stops);
  const shown: string[] = [];
  for (const piece of pieces) {
    const { text, matched } = scanner.push(piece);
    shown.push(text);
    if (matched !== null) return { shown, matched };
  }
  return { shown: [...shown, scanner.flush()], matched: null };
}

test("cuts before the stop string, also when it is spread over pieces", () => {
  assert.deepEqual(scan(["END"], ["abE", "N", "Dxyz"]), { shown: ["a", "b", ""], matched: "END" });
});

test("holds back what may become a stop string, and shows it when the text ends", () => {
  assert.deepEqual(scan(["END"], ["abcEN"]), { shown: ["abc", "EN"], matched: null });
});

test("shows everything at once without stop strings", () => {
  assert.deepEqual(scan([], ["ab", "c"]), { shown: ["ab", "c", ""], matched: null });
});

test("the first of the list wins, not the one that begins earliest", () => {
  assert.deepEqual(scan(["c", "ab"], ["xabc"]), { shown: ["xab"], matched: "c" });
  assert.deepEqual(scan(["ab", "c"], ["xabc"]), { shown: ["x"], matched: "ab" });
});

test("never shows half a surrogate pair", () => {
  for (const stop of ["!!", "!!!", "!!!!"]) {
    const { shown } = scan([stop], ["a👍", "🏽b", "👍👍"]);
    for (const text of shown) assert.equal(Buffer.from(text).toString(), text, "whole characters only");
    assert.equal(shown.join(""), "a👍🏽b👍👍");
  }
});

test("one stop string cuts any chunking of a text at the same place", () => {
  const letter = fc.constantFrom("a", "b", "👍");
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: letter, maxLength: 4 })),
      fc.string({ unit: letter, minLength: 1, maxLength: 3 }),
      (pieces, stop) => {
        const text = pieces.join("");
        const at = text.indexOf(stop);
        const { shown, matched } = scan([stop], pieces);
        assert.equal(shown.join(""), at < 0 ? text : text.slice(0, at));
        assert.equal(matched, at < 0 ? null : stop);
      },
    ),
    { numRuns: 1000 },
  );
});

test("takes more stop strings than a call takes arguments", () => {
  const stops = Array.from({ length: 200_000 }, (_, index) => `<${index}>`);
  assert.equal(createStopScanner(stops).push("<199999>").matched, "<199999>");
});
