// Finds the test files that execute a position in a built file. Runs every test file once, with V8's coverage of all
// its processes. Coverage of killed processes is lost, so a test may be missed, but none is listed wrongly.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runTest } from "./run-test.ts";

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** A range of a file that a process did not execute. */
type Gap = readonly [start: number, end: number];

interface MeasuredTest {
  readonly file: string;
  readonly isPassed: boolean;
  readonly durationMs: number;
  /** Ranges that were not executed. Each built file has one list for each process that loaded it. */
  readonly gaps: Readonly<Record<string, readonly (readonly Gap[])[]>>;
}

export interface TestOfPlace {
  readonly file: string;
  readonly durationMs: number;
}

export class Executed {
  readonly #tests: readonly MeasuredTest[];

  private constructor(tests: readonly MeasuredTest[]) {
    this.#tests = tests;
  }

  /** Reads earlier measurements from the file, and measures the missing ones. */
  static async measure(
    tree: string,
    tests: readonly string[],
    options: { readonly file: string; readonly limitMs: number; readonly log: (line: string) => void },
  ): Promise<Executed> {
    const lines = existsSync(options.file) ? readFileSync(options.file, "utf8").trim().split("\n") : [];
    const measured = lines.filter(Boolean).map((line) => JSON.parse(line) as MeasuredTest);
    for (const file of tests.filter((name) => !measured.some((test) => test.file === name))) {
      const test = await measure(tree, file, options.limitMs);
      options.log(
        `${test.isPassed ? "measured" : "fails unbroken, left out"} ${file} (${test.durationMs} ms)`,
      );
      measured.push(test);
      writeFileSync(options.file, `${JSON.stringify(test)}\n`, { flag: "a" });
    }
    return new Executed(measured.filter(({ isPassed }) => isPassed));
  }

  /**
   * Returns the tests that executed the position, first those that are likely to fail soonest. The order depends on a
   * test's duration and its distance in folders.
   */
  testsAt(builtFile: string, offset: number): readonly TestOfPlace[] {
    const costs = new Map(
      this.#tests.map((test) => [test, test.durationMs * 2 ** foldersBetween(builtFile, test.file)]),
    );
    return this.#tests
      .filter(({ gaps }) => (gaps[builtFile] ?? []).some((process) => isExecuted(process, offset)))
      .toSorted((one, other) => (costs.get(one) ?? 0) - (costs.get(other) ?? 0));
  }
}

/** V8 begins a range at an operator or after it, so the two characters before the position count too. */
function isExecuted(gaps: readonly Gap[], offset: number): boolean {
  return [offset, offset - 1, offset - 2].some(
    (place) => !gaps.some(([start, end]) => start <= place && place < end),
  );
}

/** Returns the number of folders between a built file and a test; 0 if the test belongs to this file. */
function foldersBetween(builtFile: string, test: string): number {
  if (test.replace(".test.js", ".js") === builtFile) return 0;
  const [one, other] = [builtFile.split("/").slice(0, -1), test.split("/").slice(0, -1)];
  const same = one.findIndex((part, index) => part !== other[index]);
  const alike = same === -1 ? one.length : same;
  return 1 + one.length + other.length - 2 * alike;
}

async function measure(tree: string, file: string, limitMs: number): Promise<MeasuredTest> {
  const folder = mkdtempSync(join(tmpdir(), "hone-coverage-"));
  try {
    const { isPassed, durationMs } = await runTest(tree, file, {
      limitMs,
      environment: { NODE_V8_COVERAGE: folder },
    });
    return { file, isPassed, durationMs, gaps: gapsIn(folder, pathToFileURL(join(tree, "/")).href) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function gapsIn(folder: string, treeUrl: string): Record<string, readonly (readonly Gap[])[]> {
  const found = new Map<string, Map<string, readonly Gap[]>>();
  for (const name of readdirSync(folder)) {
    const report = JSON.parse(readFileSync(join(folder, name), "utf8")) as {
      readonly result: readonly {
        readonly url: string;
        readonly functions: readonly { readonly ranges: readonly Range[] }[];
      }[];
    };
    for (const { url, functions } of report.result) {
      if (!url.startsWith(`${treeUrl}dist/src/`)) continue;
      const file = url.slice(treeUrl.length);
      const gaps = gapsOf(functions.flatMap(({ ranges }) => ranges));
      const ofFile = found.get(file) ?? new Map<string, readonly Gap[]>();
      found.set(file, ofFile.set(JSON.stringify(gaps), gaps));
    }
  }
  return Object.fromEntries([...found].map(([file, processes]) => [file, [...processes.values()]]));
}

/** Returns the ranges that were not executed. V8's ranges are nested, and the count of the innermost one applies. */
function gapsOf(ranges: readonly Range[]): readonly Gap[] {
  const bounds = [...new Set(ranges.flatMap(({ startOffset, endOffset }) => [startOffset, endOffset]))].sort(
    (one, other) => one - other,
  );
  const outerFirst = ranges.toSorted(
    (one, other) => other.endOffset - other.startOffset - (one.endOffset - one.startOffset),
  );
  const gaps: [number, number][] = [];
  for (const [index, start] of bounds.slice(0, -1).entries()) {
    const end = bounds[index + 1];
    const innermost = outerFirst.findLast((range) => range.startOffset <= start && end <= range.endOffset);
    if (innermost?.count !== 0) continue;
    const last = gaps.at(-1);
    if (last?.[1] === start) last[1] = end;
    else gaps.push([start, end]);
  }
  return gaps;
}
