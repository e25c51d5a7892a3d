// `npm run proof`: runs the randomized tests repeatedly with new seeds until the time is up. These are the tests whose
// files import base/domain/testing/search.ts; `npm test` runs a fixed sample of each.
//
// * A round runs one file with several times as many cases as the sample of `npm test`, from a seed that it prints.
// * The order of the files also depends on the seed, so that short runs cover different files.
// * It stops at the first failure unless `--go-on` is given, and prints how to repeat a failed round.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { findChromium } from "./chromium.js";
import { startPostgres } from "./postgres.js";
import { root, say, setUp } from "./setup.js";
import { built, environment, testFiles, wantPostgres } from "./test-files.js";

const help = `Usage: npm run proof -- [name ...] [options]
Runs the randomized tests in rounds, each with another seed. Names select the test files whose path contains a name.

  --seed <n>     seed of the first round, 1 to 2147483647 (default: random; the proof prints it)
  --minutes <n>  time limit (default: 20); rounds that run at the limit are stopped and not counted
  --rounds <n>   maximum number of rounds per file (default: unlimited)
  --times <n>    number of cases in a round, as a multiple of the sample in \`npm test\` (default: 4)
  --go-on        continue after a failure
  --list         print the files
  --help         print this text

Exits with status 1 if a round failed, or if no round finished. Without --go-on, the first failure stops the proof.
`;

/** Distance between the seeds of two rounds. No file uses as many seeds in a round, so rounds do not overlap. */
const seedStep = 1_000_003;
const seedMax = 2_147_483_647;
/** Maximum number of characters printed of a failed round's output. The end is printed, because it says what failed. */
const printedMax = 20_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string" },
    minutes: { type: "string", default: "20" },
    rounds: { type: "string" },
    times: { type: "string", default: "4" },
    "go-on": { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(help);
  process.exit();
}
/** Test file that is omitted, because all but one of its tests take long and do not depend on the seed. */
const hardlySearches = join("src", "store", "database", "stores.test.ts");
const files = testFiles(positionals).filter(
  (file) => file !== hardlySearches && /testing\/search\.ts"/.test(readFileSync(join(root, file), "utf8")),
);
if (files.length === 0) {
  say(`no path of a randomized test contains ${positionals.join(" or ")}; --list prints the paths`);
  process.exit(1);
}
if (values.list) {
  process.stdout.write(files.map((file) => `${file}\n`).join(""));
  process.exit();
}
const minutes = numberOf("minutes", 0.1, 24 * 60);
const times = numberOf("times", 1, 10_000);
const roundCount = values.rounds === undefined ? Infinity : numberOf("rounds", 1, 1_000_000);
if (values.seed !== undefined) numberOf("seed", 1, seedMax);
setUp();
const { freshSeed, seededRandom, shuffled } = await import(
  pathToFileURL(join(root, "dist", "src", "base", "domain", "random.js")).href
);
const firstSeed = values.seed === undefined ? 1 + (freshSeed() % seedMax) : Number(values.seed);
/** Folder for files that stopped rounds leave behind. */
const temporary = mkdtempSync(join(tmpdir(), "hone-proof-"));
process.once("exit", () => rmSync(temporary, { recursive: true, force: true, maxRetries: 3 }));
const postgres = wantPostgres(files) ? startPostgres(say) : null;
const deadlineMs = performance.now() + minutes * 60_000;
/** Child processes of the running rounds. */
const running = new Set();
let [tried, cut, failed] = [0, 0, 0];

print(`${files.length} files for ${minutes} minutes, seed ${firstSeed}`);
const rounds = drawnRounds();
setTimeout(endAll, deadlineMs - performance.now()).unref();
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    endAll();
    process.exit(1);
  });
}
await Promise.all(Array.from({ length: availableParallelism() }, work));
print(`${tried} rounds passed, ${failed} failed, ${cut} were stopped at the time limit; seed ${firstSeed}`);
process.exit(failed === 0 && tried > 0 ? 0 : 1);

/** Yields rounds: each file once in random order with the first seed, then again with the next seed, and so on. */
function* drawnRounds() {
  for (let round = 0; round < roundCount; round++) {
    const seed = ((firstSeed - 1 + round * seedStep) % seedMax) + 1;
    for (const file of shuffled(seededRandom("proof", seed), files)) yield { file, seed };
  }
}

/** Runs one round after another until the time is up or a round has failed. */
async function work() {
  for (const round of rounds) {
    if ((failed > 0 && !values["go-on"]) || performance.now() >= deadlineMs) return;
    await run(round);
  }
}

async function run({ file, seed }) {
  const startMs = performance.now();
  // `detached` gives the child a separate process group, so that processes that the test started are killed with it.
  const child = spawn(process.execPath, ["--test-reporter=spec", built(file)], {
    cwd: root,
    env: {
      ...environment,
      TMPDIR: temporary,
      TEST_SEED: String(seed),
      TEST_TIMES: String(times),
      TEST_POSTGRES: postgres ?? "off",
      CHROMIUM: findChromium() ?? "",
    },
    stdio: ["ignore", "pipe", "pipe"],
    detached: process.platform !== "win32",
  });
  running.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => (output = (output + text).slice(-printedMax)));
  const [status] = await new Promise((resolve) =>
    child.once("close", (...ended) => resolve(ended)).once("error", () => resolve([1])),
  );
  running.delete(child);
  const seconds = Math.round((performance.now() - startMs) / 1000);
  const described = `${file}, seed ${seed}, ${seconds} s`;
  if (child.isEnded) {
    cut += 1;
    print(`stopped ${described}`);
  } else if (status === 0) {
    tried += 1;
    print(`passed  ${described}`);
  } else {
    failed += 1;
    if (!values["go-on"]) endAll();
    print(`FAILED  ${described}\n${output}`);
    print(`to repeat it: npm run proof -- ${file} --seed ${seed} --times ${times} --rounds 1`);
  }
}

/** Kills all running rounds, because the time is up or a round has failed. */
function endAll() {
  for (const child of running) {
    child.isEnded = true;
    try {
      if (process.platform === "win32") child.kill("SIGKILL");
      else process.kill(-child.pid, "SIGKILL");
    } catch (error) {
      // The round has already ended.
      if (error.code !== "ESRCH") throw error;
    }
  }
}

function numberOf(name, min, max) {
  const number = Number(values[name]);
  const isWhole = name === "minutes" || Number.isInteger(number);
  if (values[name].trim() === "" || !isWhole || !(number >= min && number <= max)) {
    const kind = name === "minutes" ? "number" : "whole number";
    say(`--${name} is ${JSON.stringify(values[name])}; it must be a ${kind} from ${min} to ${max}`);
    process.exit(1);
  }
  return number;
}

function print(line) {
  process.stdout.write(`proof: ${line}\n`);
}
