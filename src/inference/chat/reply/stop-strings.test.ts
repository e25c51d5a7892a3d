// Tests stop strings. The pieces in which a text arrives must not affect where it is cut or how much of it is held
// back.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { StopAutomaton, stopScanners } from "./stop-strings.ts";
import { searching } from "../../../base/domain/testing/search.ts";

/** Returns the pieces of text that may be shown, and the stop string that matched. */
function scan(
  stops: readonly string[],
  pieces: readonly string[],
  { includesStop = false, freeCount = 0 } = {},
): { readonly shown: string[]; readonly matched: string | null } {
  const scanner = stopScanners({ stops, includesStop })();
  const shown: string[] = [];
  for (const [index, piece] of pieces.entries()) {
    const { text, matched } = scanner.push(piece, { mayEnd: index >= freeCount });
    shown.push(text);
    if (matched !== null) return { shown, matched };
  }
  return { shown: [...shown, scanner.flush()], matched: null };
}

test("cuts before the stop string, even if it spans pieces", () => {
  assert.deepEqual(scan(["END"], ["abE", "N", "Dxyz"]), { shown: ["a", "b", ""], matched: "END" });
});

test("cuts right after a stop string that is shown, and holds back no text", () => {
  const shown = scan(["END"], ["abE", "N", "Dxyz"], { includesStop: true });
  assert.deepEqual(shown, { shown: ["abE", "N", "D"], matched: "END" });
});

test("holds back a possible prefix of a stop string, and shows it when the text ends", () => {
  assert.deepEqual(scan(["END"], ["abcEN"]), { shown: ["abc", "EN"], matched: null });
});

test("holds back whole characters", () => {
  assert.deepEqual(scan(["👍👍"], ["ab", "👍"]), { shown: ["a", "b", "👍"], matched: null });
});

test("shows everything immediately without stop strings", () => {
  assert.deepEqual(scan([], ["ab", "c"]), { shown: ["ab", "c", ""], matched: null });
});

test("prefers the stop string that is completed first, then the one listed first", () => {
  assert.deepEqual(scan(["c", "ab"], ["xabc"]), { shown: ["x"], matched: "ab" });
  assert.deepEqual(scan(["abc", "b"], ["xabc"]), { shown: ["xa"], matched: "b" });
  assert.deepEqual(scan(["bc", "abc"], ["xabc"]), { shown: ["xa"], matched: "bc" });
  assert.deepEqual(scan(["abc", "bc"], ["xabc"]), { shown: ["x"], matched: "abc" });
});

test("ignores a stop string that lies wholly within the part in which the text may not end", () => {
  const stops = ["ab"];
  assert.deepEqual(scan(stops, ["ab", "c"], { freeCount: 1 }), { shown: ["a", "b", "c"], matched: null });
  assert.deepEqual(scan(stops, ["a", "bc"], { freeCount: 1 }), { shown: ["", ""], matched: "ab" });
  assert.deepEqual(scan(stops, ["abab"], { freeCount: 1 }), { shown: ["aba", "b"], matched: null });
});

test("never shows half a surrogate pair", () => {
  for (const stop of ["!!", "!!!", "!!!!"]) {
    const { shown } = scan([stop], ["a👍", "🏽b", "👍👍"]);
    for (const text of shown) assert.equal(Buffer.from(text).toString(), text, "whole characters only");
    assert.equal(shown.join(""), "a👍🏽b👍👍");
  }
});

test("does not end a text within a surrogate pair", () => {
  assert.deepEqual(scan(["\udc4d", "\ud83d"], ["a👍b"]), { shown: ["a👍b", ""], matched: null });
});

/** Slow implementation for comparison: checks each position of the whole text in order. */
function oracle(
  stops: readonly string[],
  text: string,
  from = 0,
): { readonly end: number; readonly stop: string } | null {
  for (let end = from + 1; end <= text.length; end++) {
    const stop = stops.find((one) => text.slice(0, end).endsWith(one));
    if (stop !== undefined) return { end, stop };
  }
  return null;
}

test("cuts a text at the same place however it is split", () => {
  const letter = fc.constantFrom("a", "b", "👍");
  const stops = fc.array(fc.string({ unit: letter, minLength: 1, maxLength: 5 }), { maxLength: 4 });
  const pieces = fc.array(fc.string({ unit: letter, maxLength: 4 }), { maxLength: 12 });
  fc.assert(
    fc.property(pieces, stops, fc.boolean(), (pieces, stops, includesStop) => {
      const text = pieces.join("");
      const found = oracle(stops, text);
      const { shown, matched } = scan(stops, pieces, { includesStop });
      const end = found === null ? text.length : found.end - (includesStop ? 0 : found.stop.length);
      assert.equal(shown.join(""), text.slice(0, end));
      assert.equal(matched, found?.stop ?? null);
      const characters = (one: string): readonly string[] => Array.from(one);
      const longest = Math.max(1, ...stops.map((stop) => characters(stop).length));
      const before = characters(pieces.slice(0, shown.length - 1).join(""));
      assert.equal(
        shown.slice(0, -1).join(""),
        before.slice(0, Math.max(0, before.length - (includesStop ? 0 : longest - 1))).join(""),
        "exactly that many characters are held back",
      );
    }),
    searching(1000),
  );
});

test("cuts texts that share one rule with many overlapping stop strings as if each text had a separate rule", () => {
  const letters = fc.constantFrom("a", "a", "a", "b", "c");
  const stops = fc.array(fc.string({ unit: letters, minLength: 1, maxLength: 9 }), { maxLength: 40 });
  const texts = fc.array(fc.array(fc.string({ unit: letters, maxLength: 5 }), { maxLength: 20 }), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(stops, texts, fc.nat(8), (stops, texts, freeCount) => {
      const open = stopScanners({ stops, includesStop: false });
      for (const pieces of texts) {
        const scanner = open();
        const free = pieces.slice(0, freeCount).join("").length;
        const text = pieces.join("");
        const found = oracle(stops, text, free);
        let matched: string | null = null;
        let shown = "";
        for (const [index, piece] of pieces.entries()) {
          if (matched !== null) break;
          const scanned = scanner.push(piece, { mayEnd: index >= freeCount });
          ({ matched } = scanned);
          shown += scanned.text;
        }
        if (matched === null) shown += scanner.flush();
        assert.equal(matched, found?.stop ?? null);
        assert.equal(shown, found === null ? text : text.slice(0, found.end - found.stop.length));
      }
    }),
    searching(500),
  );
});

test("finds the same stop strings if cached states are discarded at any time", () => {
  const letters = fc.constantFrom("a", "a", "b");
  const texts = fc.array(fc.string({ unit: letters, maxLength: 30 }), { maxLength: 3 });
  const stops = fc.array(fc.string({ unit: letters, minLength: 1, maxLength: 9 }), { maxLength: 20 });
  fc.assert(
    fc.property(stops, texts, fc.integer({ min: 1, max: 6 }), (stops, texts, keptCountMax) => {
      const [small, large] = [new StopAutomaton(stops, { keptCountMax }), new StopAutomaton(stops)];
      const states = texts.map(() => ({ small: small.start, large: large.start }));
      for (let at = 0; at < 30; at++) {
        for (const [index, text] of texts.entries()) {
          if (at >= text.length) continue;
          const state = states[index];
          state.small = small.advance(state.small, text.charCodeAt(at));
          state.large = large.advance(state.large, text.charCodeAt(at));
          assert.equal(state.small.completed, state.large.completed);
        }
      }
    }),
  );
});

test("scans several texts independently with one rule", () => {
  const open = stopScanners({ stops: ["ab"], includesStop: false });
  const [first, second] = [open(), open()];
  first.push("a", { mayEnd: true });
  assert.equal(second.push("b", { mayEnd: true }).matched, null);
  assert.equal(first.push("b", { mayEnd: true }).matched, "ab");
});

test("takes more stop strings than a function call takes arguments", () => {
  const stops = Array.from({ length: 200_000 }, (_, index) => `<${index}>`);
  const open = stopScanners({ stops, includesStop: false });
  assert.equal(open().push("<199999>", { mayEnd: true }).matched, "<199999>");
});
