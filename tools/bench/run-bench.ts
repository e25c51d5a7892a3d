// Common parts of the benchmarks: command-line flags, output as text or JSON, and comparison with another build. Both
// builds take turns in one run and the best result of each counts, so that a busy machine hardly changes the ratios.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/** Root folder of the checkout that contains this build. */
export const ownFolder = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

export interface BenchOptions {
  readonly json: boolean;
  readonly rounds: number;
  readonly threads: number;
  /** The model to measure; null measures both. */
  readonly only: "tiny" | "135m" | null;
  /** Root folder of another built checkout to compare with; null for no comparison. */
  readonly against: string | null;
  /** Python interpreter; null skips the comparison with PyTorch. */
  readonly pytorch: string | null;
  /** Precision of the 135 M model's weights in bits; null computes in float32. */
  readonly quantize: "8" | "4" | null;
  /** Folder or file of the model to measure; null for the benchmark's own models. */
  readonly model: string | null;
}

const flagHelp = `
  --rounds <count>    number of rounds; the best counts (default 5)
  --threads <count>   number of compute threads (default: one per core)
  --only <tiny|135m>  only this model
  --against <folder>  also measure the build in another checkout, alternating, and print the ratio
  --quantize <8|4>    weight precision in bits; engine, loop, memory: of the 135 M model; start: of the model in --model
  --model <path>      start: model folder or GGUF file to serve besides the built-in model; loop: GGUF file of about
                      135 M weights to use instead of random weights
  --against-pytorch <python>  train-step only: Python interpreter with PyTorch to compare with
  --json              print JSON
  --help              print this help`;

export interface Report {
  readonly name: string;
}

export interface Bench<R extends Report> {
  /** The benchmark's `import.meta.url`. */
  readonly script: string;
  readonly help: string;
  measure(options: BenchOptions): Promise<readonly R[]>;
  textOf(report: R): string;
}

/** Parses the flags and runs the benchmark. */
export async function runBench<R extends Report>(bench: Bench<R>): Promise<void> {
  const options = readOptions();
  if (options === null) {
    process.stdout.write(`${bench.help}\n${flagHelp}\n`);
    return;
  }
  if (options.against !== null) {
    print(options, compareBuilds(basename(fileURLToPath(bench.script)), options.against, options), ratioText);
  } else print(options, await bench.measure(options), (report) => bench.textOf(report));
}

/** Like {@link runBench}, for benchmarks that do the comparison of two builds themselves. */
export async function runComparingBench<R extends Report>(bench: Bench<R>): Promise<void> {
  const options = readOptions();
  if (options === null) process.stdout.write(`${bench.help}\n${flagHelp}\n`);
  else print(options, await bench.measure(options), (report) => bench.textOf(report));
}

/** Measures the selected subjects one after the other. */
export async function measureEach<S extends { readonly size: "tiny" | "135m" }, R>(
  subjects: readonly S[],
  { only }: Pick<BenchOptions, "only">,
  measure: (subject: S) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  const reports: R[] = [];
  for (const subject of subjects)
    if (only === null || only === subject.size) reports.push(...(await measure(subject)));
  return reports;
}

/** Parses the flags; returns null if `--help` is given. */
function readOptions(): BenchOptions | null {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "5" },
      threads: { type: "string", default: String(availableParallelism()) },
      only: { type: "string" },
      against: { type: "string" },
      "against-pytorch": { type: "string" },
      quantize: { type: "string" },
      model: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const { only = null, against = null, "against-pytorch": pytorch = null, json } = values;
  const { quantize = null, model = null } = values;
  if (quantize !== null && quantize !== "8" && quantize !== "4")
    refuse(`--quantize is ${quantize}; it must be 8 or 4.`);
  const [rounds, threads] = [Number(values.rounds), Number(values.threads)];
  if (only !== null && only !== "tiny" && only !== "135m")
    refuse(`--only is ${only}; it must be tiny or 135m.`);
  for (const count of [rounds, threads]) {
    if (!Number.isInteger(count) || count < 1)
      refuse("--rounds and --threads must be integers of at least 1.");
  }
  if (against !== null && !existsSync(join(against, "dist", "src", "apps", "cli", "main.js")))
    refuse(`--against is ${against}; that folder is not a built checkout. Run npm run build there.`);
  return { json, rounds, threads, only, against, pytorch, quantize, model };
}

function refuse(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

function print<R>({ json }: BenchOptions, reports: readonly R[], textOf: (report: R) => string): void {
  process.stdout.write(
    json ? `${JSON.stringify(reports, null, 2)}\n` : `${reports.map(textOf).join("\n")}\n`,
  );
}

/** A rate measured in both builds, in tokens per second. */
interface Ratio extends Report {
  readonly here: number;
  readonly there: number;
  readonly ratio: number;
}

/** Runs the same benchmark in both builds in turn, each time in a separate process. */
function compareBuilds(script: string, otherFolder: string, options: BenchOptions): readonly Ratio[] {
  const best = { here: new Map<string, number>(), there: new Map<string, number>() };
  const flags = [
    "--json",
    ...(["only", "quantize", "model"] as const).flatMap((name) => {
      const value = options[name];
      return value === null ? [] : [`--${name}`, value];
    }),
  ];
  for (let round = 0; round < options.rounds; round++) {
    for (const [side, folder] of [
      ["here", ownFolder],
      ["there", otherFolder],
    ] as const) {
      const output = execFileSync(
        process.execPath,
        [join(folder, "dist", "tools", "bench", script), ...flags, "--threads", `${options.threads}`],
        { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
      );
      // Safe cast: with --json, the other script prints a list of named reports.
      for (const [name, rate] of ratesOf(JSON.parse(output) as readonly Report[])) {
        best[side].set(name, Math.max(rate, best[side].get(name) ?? 0));
      }
    }
  }
  return [...best.here].flatMap(([name, here]) => {
    const there = best.there.get(name);
    return there === undefined ? [] : [{ name, here, there, ratio: here / there }];
  });
}

/** Returns all rates by report name and key. Rates are the numbers whose key ends in tokensPerSecond. */
function ratesOf(reports: readonly Report[]): readonly (readonly [string, number])[] {
  return reports.flatMap((report) =>
    Object.entries(report)
      .filter(([key]) => key.toLowerCase().endsWith("tokenspersecond"))
      .flatMap(([key, value]) => numbersIn(`${report.name} ${key}`, value)),
  );
}

function numbersIn(name: string, value: unknown): readonly (readonly [string, number])[] {
  if (typeof value === "number") return [[name, value]];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inner]) => numbersIn(`${name} ${key}`, inner));
}

function ratioText({ name, here, there, ratio }: Ratio): string {
  return `${name}: ${here.toFixed(0)} here, ${there.toFixed(0)} there, ratio ${ratio.toFixed(3)}`;
}
