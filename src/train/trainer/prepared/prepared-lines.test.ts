// Tests that each line is prepared only once, even if processes die, and that progress is reported.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { linesOf } from "../testing/lines-of.ts";
import { type PreparedLine, type WorkLines, PreparedLines, TokenFile } from "./token-file.ts";

type Reported = readonly [count: number, total: number, secondsLeft: number];

interface Given {
  readonly onLine?: (index: number) => void;
  readonly msPerLine?: number;
}

/** A token file that several attempts share. Each call of `prepare` is one attempt and has its own list of lines. */
class Bench {
  readonly clock = new FakeClock();
  readonly reported: Reported[] = [];
  /** Indices of the lines that attempts read. */
  readonly read: number[] = [];
  readonly #path: string;

  constructor(t: TestContext) {
    const folder = mkdtempSync(join(tmpdir(), "hone-prepared-"));
    t.after(() => rmSync(folder, { recursive: true }));
    this.#path = join(folder, "tokens");
  }

  /** Prepares lines in one attempt. A line is a number, which is prepared as a sequence of that many tokens. */
  async prepare(
    lengths: readonly number[],
    { onLine = () => undefined, msPerLine = 0 }: Given = {},
  ): Promise<number[]> {
    const file = new TokenFile(this.#path, "key");
    const report = async (...reported: Reported): Promise<void> => void this.reported.push(reported);
    try {
      const lines = new PreparedLines(file, this.#timed(linesOf(lengths), msPerLine), {
        clock: this.clock,
        report,
      });
      const prepared: number[] = [];
      const prepare = (length: number, index: number): PreparedLine<{ index: number }> => {
        this.read.push(index);
        onLine(index);
        const oldLogprobs = new Float32Array(length).fill(NaN);
        const sequence = { tokenIds: new Int32Array(length), mask: new Uint8Array(length), oldLogprobs };
        return { note: { index }, sequences: [sequence] };
      };
      for await (const { note, sequences } of lines.each(prepare)) {
        assert.equal(note.index, prepared.length);
        prepared.push(sequences[0].tokenCount);
      }
      return prepared;
    } finally {
      file.close();
    }
  }

  #timed<Item>(lines: WorkLines<Item>, msPerLine: number): WorkLines<Item> {
    const { clock } = this;
    return {
      count: lines.count,
      from: async function* (index) {
        for await (const item of lines.from(index)) {
          await clock.advance(msPerLine);
          yield item;
        }
      },
    };
  }
}

test("an attempt continues at the end of a lost one's file and has the same lines", async (t) => {
  const bench = new Bench(t);
  // Each of these records is larger than the write buffer, so it is written to the file at once.
  const lengths = [300_000, 300_001, 300_002, 300_003, 300_004];
  const die = (index: number): void => assert.ok(index < 3, "the process died");
  await assert.rejects(bench.prepare(lengths, { onLine: die }), /the process died/);
  assert.deepEqual(bench.read.splice(0), [0, 1, 2, 3]);
  assert.deepEqual(await bench.prepare(lengths), lengths);
  assert.deepEqual(bench.read.splice(0), [3, 4], "what is in the file is not prepared again");
  assert.deepEqual(await bench.prepare(lengths), lengths);
  assert.deepEqual(bench.read, []);
});

test("reports the number of prepared lines and the time left, once a second and at the end", async (t) => {
  const bench = new Bench(t);
  await bench.prepare([1, 1, 1, 1, 1, 1], { msPerLine: 500 });
  assert.deepEqual(bench.reported, [
    [2, 6, 2],
    [4, 6, 1],
    [6, 6, 0],
  ]);
});

test("reports every tenth of many lines, however fast they are", async (t) => {
  const bench = new Bench(t);
  await bench.prepare(Array.from({ length: 2000 }, () => 1));
  const tenths = Array.from({ length: 10 }, (_, tenth) => 200 * (tenth + 1));
  assert.deepEqual(
    bench.reported.map(([count]) => count),
    tenths,
  );
});
