// `npm run mutations -- --sample`: breaks the sources at random positions, one at a time, and reports the mutations
// that no test notices. First measures which tests execute each position, and then runs only those. Works in a copy of
// the commit and resumes if it was stopped.
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { freshSeed, seededRandom, shuffled } from "../../src/base/domain/random.ts";
import { Executed, type TestOfPlace } from "./executed.ts";
import { mutationsOf, type Mutation } from "./places.ts";
import { runTest } from "./run-test.ts";
import { Tree, type Built } from "./tree.ts";

/** A mutation that was tried. */
interface Trial {
  readonly file: string;
  readonly line: number;
  /** The whole original line. */
  readonly text: string;
  readonly from: string;
  readonly to: string;
  /** Invalid mutations do not compile, or do not change the compiled code. Others are drawn in their place. */
  readonly outcome: "caught" | "survived" | "invalid";
  /** The test that noticed the mutation, or the number of tests that did not. */
  readonly by: string;
}

interface Drawn extends Mutation {
  readonly file: string;
  readonly text: string;
}

const usage = `Usage: npm run mutations -- --sample [options]

  --count <n>      number of mutations (default: 200)
  --seed <seed>    seed of the sample (default: random; the report contains it)
  --seconds <n>    limit on the total normal duration of the tests that run per mutation (default: 3600)
  --state <folder> folder of the copy, the measurements and the log (default: hone-mutations-<seed> in the temporary
                   folder); a run continues if its folder exists
  --again <folder> try the survivors of another run on the current commit, instead of a sample
  --json           print the report as JSON
`;

/** Maximum number of mutations that are compiled together. */
const togetherMax = 20;

/** Time in milliseconds by which a test may exceed its normal duration before it counts as hanging. */
const hangMs = 30_000;

/** A test that fails in less than this time in milliseconds did not time out, so it is not repeated. */
const waitingMs = 1500;

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "200" },
    seed: { type: "string" },
    seconds: { type: "string", default: "3600" },
    state: { type: "string" },
    again: { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
const seed = values.seed ?? String(freshSeed());
const state = values.state ?? join(tmpdir(), `hone-mutations-${seed}`);
say(`seed ${seed}, in ${state}`);
mkdirSync(state, { recursive: true });
const commit = commitOf(join(state, "commit"));
const tree = Tree.open(join(state, "tree"), commit);
const executed = await Executed.measure(tree.folder, testFiles(), {
  file: join(state, "executed.jsonl"),
  limitMs: 300_000,
  log: say,
});
const trials = await tryEach(
  values.again === undefined ? sample() : again(values.again),
  values.again === undefined ? Number(values.count) : Infinity,
);
report(trials);

/** Returns the commit with which the run began; a resumed run keeps it even if there are newer commits. */
function commitOf(file: string): string {
  if (!existsSync(file)) writeFileSync(file, execFileSync("git", ["rev-parse", "HEAD"]));
  return readFileSync(file, "utf8").trim();
}

/** Tries mutations in order until enough of them were caught or survived. */
async function tryEach(drawn: readonly Drawn[], count: number): Promise<readonly Trial[]> {
  const log = join(state, "trials.jsonl");
  const done = existsSync(log) ? readTrials(log) : [];
  const triedCount = (): number => done.filter(({ outcome }) => outcome !== "invalid").length;
  const missing = (): number => count - triedCount();
  while (done.length < drawn.length && missing() > 0) {
    const together = ofDifferentFiles(
      drawn.slice(done.length, done.length + Math.min(missing(), togetherMax)),
    );
    const built = tree.build(together.map((mutation) => ({ file: mutation.file, text: broken(mutation) })));
    for (const [index, mutation] of together.entries()) {
      const trial = await tryOne(mutation, built[index]);
      appendFileSync(log, `${JSON.stringify(trial)}\n`);
      done.push(trial);
      if (trial.outcome !== "invalid") say(`${triedCount()}: ${described(trial)}`);
    }
  }
  return done;
}

/** Returns the first mutations, up to the one whose file occurs for the second time. */
function ofDifferentFiles(drawn: readonly Drawn[]): readonly Drawn[] {
  const repeated = drawn.findIndex(({ file }, index) =>
    drawn.slice(0, index).some((one) => one.file === file),
  );
  return repeated === -1 ? drawn : drawn.slice(0, repeated);
}

function broken({ file, offset, from, to }: Drawn): string {
  const source = tree.read(file);
  return source.slice(0, offset) + to + source.slice(offset + from.length);
}

async function tryOne({ file, line, text, from, to }: Drawn, built: Built): Promise<Trial> {
  const trial = { file, line, text, from, to };
  if (typeof built === "string") return { ...trial, outcome: "invalid", by: built };
  const tests = executed.testsAt(built.file, built.offset);
  const tried = within(tests, Number(values.seconds) * 1000);
  return tree.with(built, async (): Promise<Trial> => {
    for (const test of tried) {
      const limitMs = hangMs + 5 * test.durationMs;
      const { isPassed, failure, durationMs } = await runTest(tree.folder, test.file, { limitMs });
      if (isPassed) continue;
      // Repeats slow failures, because they may be timeouts.
      const isSure = durationMs < waitingMs || !(await runTest(tree.folder, test.file, { limitMs })).isPassed;
      if (isSure) return { ...trial, outcome: "caught", by: `${test.file}: ${failure}` };
    }
    return { ...trial, outcome: "survived", by: `${tried.length} of ${tests.length} test files` };
  });
}

/** Returns as many of the first tests as fit into the time limit, but at least one. */
function within(tests: readonly TestOfPlace[], limitMs: number): readonly TestOfPlace[] {
  let spentMs = 0;
  return tests.filter(({ durationMs }, index) => (spentMs += durationMs) <= limitMs || index === 0);
}

/** Returns one mutation for each line that has any. Lines and mutations are drawn uniformly. */
function sample(): readonly Drawn[] {
  const random = seededRandom("mutations", seed);
  const lines = sourceFiles().flatMap((file) => {
    const text = tree.read(file);
    const mutations = mutationsOf(text);
    return [...new Set(mutations.map(({ line }) => line))].map((line) => ({
      file,
      text: text.split("\n")[line - 1].trim(),
      ofLine: mutations.filter((mutation) => mutation.line === line),
    }));
  });
  return shuffled(random, lines).map(({ file, text, ofLine }) => ({
    ...ofLine[random.index(ofLine.length)],
    file,
    text,
  }));
}

/**
 * Returns the mutations that survived in another run, at their current positions. If their line no longer exists,
 * reports and omits them.
 */
function again(folder: string): readonly Drawn[] {
  const survivors = readTrials(join(folder, "trials.jsonl")).filter(({ outcome }) => outcome === "survived");
  return survivors.flatMap((trial) => {
    const text = existsSync(join(tree.folder, trial.file)) ? tree.read(trial.file) : "";
    const found = mutationsOf(text)
      .filter(({ line, from, to }) => {
        return text.split("\n")[line - 1].trim() === trial.text && from === trial.from && to === trial.to;
      })
      .toSorted((one, other) => Math.abs(one.line - trial.line) - Math.abs(other.line - trial.line))[0];
    if (found === undefined) say(`gone: ${described(trial)}`);
    return found === undefined ? [] : [{ ...found, file: trial.file, text: trial.text }];
  });
}

function readTrials(file: string): Trial[] {
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Trial);
}

/** Lists the product's source files. */
function sourceFiles(): readonly string[] {
  return filesIn("src").filter((file) => !/\.test\.ts$|\/(testing|contract)\/|\/fake-[^/]*$/.test(file));
}

function testFiles(): readonly string[] {
  return ["src", "test", join("tools", "recipes"), join("tools", "bench")]
    .flatMap(filesIn)
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => join("dist", file.replace(/\.ts$/, ".js")));
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(join(tree.folder, folder), { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((file) => file.endsWith(".ts"))
    .sort((one, other) => one.localeCompare(other));
}

function report(trials: readonly Trial[]): void {
  const survivors = trials.filter(({ outcome }) => outcome === "survived");
  const caughtCount = trials.filter(({ outcome }) => outcome === "caught").length;
  const count = caughtCount + survivors.length;
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ seed, commit, count, caughtCount, survivors }, null, 2)}\n`);
  } else {
    const lines = survivors.map(described);
    process.stdout.write(
      [...lines, `${caughtCount} of ${count} mutations were caught (seed ${seed})`, ""].join("\n"),
    );
  }
}

function described({ outcome, file, line, from, to, text, by }: Trial): string {
  return `${outcome} ${file}:${line} ${JSON.stringify(from)} -> ${JSON.stringify(to)} in ${JSON.stringify(text)} (${by})`;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
