// Compares the speed of Hone's model runner in 8 and 4 bits with vLLM in bfloat16, for which some processors have
// matrix units. Both run the same model on the same processor with the same number of threads.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Quantization } from "../../../src/base/domain/model.ts";
import { startRunner, takeTurns, textOf, type Figure } from "./beside-peer.ts";
import { ensureFloatFolder } from "./float-folder.ts";
import { LineProcess } from "../line-process.ts";
import { ownFolder } from "../run-bench.ts";
import { batchSizes, contextCount } from "../runner-times.ts";

const promptCount = 512;

const help = `Usage: node dist/tools/bench/peers/vllm.js --python <interpreter> --model <file.gguf> [flags]
Times decoding at batch sizes 1, 8 and 16 with a context of ${contextCount} tokens, and a prompt of ${promptCount} tokens, in 8 and 4 bits, compared
with vLLM in bfloat16, compiled. vLLM reads the file's weights as float32 and rounds them itself. On both sides only the model
runner is timed, without scheduler and sampler. tools/bench/peers/vllm/install.sh <folder> installs vLLM; the interpreter is
bin/python in that folder.

  --type <bfloat16|float32>  data type of vLLM (default bfloat16); with float32, Hone computes in float32 too
  --keep <folder>            keep the converted model and vLLM's compiled code (minutes) in this folder for the next run
  --rounds <count>           number of rounds; the best counts (default 5)
  --threads <count>          number of compute threads on each side (default 2)
  --json                     print JSON
  --help                     print this help`;

/** Hone's precisions to compare with each data type of vLLM. */
const precisions: Readonly<Record<string, Readonly<Record<string, Quantization>>>> = {
  bfloat16: { int8: "8", int4: "4" },
  float32: { float32: "off" },
};

interface Options {
  readonly python: string;
  readonly model: string;
  readonly type: string;
  /** Folder for all files that the benchmark writes. */
  readonly folder: string;
  readonly rounds: number;
  readonly threads: number;
}

const { values } = parseArgs({
  options: {
    python: { type: "string" },
    model: { type: "string" },
    type: { type: "string", default: "bfloat16" },
    keep: { type: "string" },
    rounds: { type: "string", default: "5" },
    threads: { type: "string", default: "2" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(`${help}\n`);
else if (values.python === undefined || values.model === undefined || !(values.type in precisions)) {
  process.stderr.write("--python and --model are needed; --help says what they and the others are.\n");
  process.exitCode = 2;
} else {
  const { python, model, type, keep, json } = values;
  const folder = keep ?? mkdtempSync(join(tmpdir(), "vllm-"));
  try {
    const counts = { rounds: Number(values.rounds), threads: Number(values.threads) };
    const measured = await measure({ python, model, type, folder, ...counts });
    const figures = [...measured, ...bestOf(measured)];
    const text = figures.map((figure) => textOf(figure, "vLLM")).join("\n");
    process.stdout.write(json ? `${JSON.stringify(figures, null, 2)}\n` : `${text}\n`);
  } finally {
    if (keep === undefined) rmSync(folder, { recursive: true });
  }
}

async function measure({
  python,
  model,
  type,
  folder,
  rounds,
  threads,
}: Options): Promise<readonly Figure[]> {
  const other = new LineProcess([python, join(ownFolder, "tools", "bench", "peers", "vllm", "side.py")]);
  const runners = new Map<string, LineProcess>();
  try {
    const job = {
      folder: ensureFloatFolder(model, join(folder, "cache")),
      cache: join(folder, "vllm"),
      rows: Math.max(...batchSizes),
      context: 2 * promptCount,
    };
    await other.ask(JSON.stringify({ ...job, type, threads }));
    for (const [precision, quantization] of Object.entries(precisions[type]))
      runners.set(precision, await startRunner({ file: model, folder, threads, quantization }));
    return await takeTurns(runners, other, { promptCount, rounds });
  } finally {
    other.end();
    for (const runner of runners.values()) runner.end();
  }
}

/** Returns the figure of Hone's fastest precision for each kind of work; empty if only one precision was measured. */
function bestOf(figures: readonly Figure[]): readonly Figure[] {
  const works = new Set(figures.map(({ what }) => what));
  if (works.size === figures.length) return [];
  return [...works].map((work) => {
    const own = figures.filter(({ what }) => what === work);
    const best = own.reduce((most, figure) => (figure.ratio > most.ratio ? figure : most));
    return { ...best, precision: "best" };
  });
}
