// Compares the speed of Hone's model runner with that of llama.cpp. Both use the same file, with weights at the same
// precision, and the same number of threads.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Quantization } from "../../../src/base/domain/model.ts";
import { startRunner, takeTurns, textOf, type Figure } from "./beside-peer.ts";
import { LineProcess } from "../line-process.ts";
import { ownFolder } from "../run-bench.ts";
import { batchSizes, contextCount } from "../runner-times.ts";

const help = `Usage: node dist/tools/bench/peers/llama-cpp.js --python <interpreter> --model <file.gguf> [flags]
Times decoding at batch sizes 1, 8 and 16 with a context of ${contextCount} tokens, and a prompt of ${contextCount} tokens, in float32, 8 bits (Q8_0)
and 4 bits (Q4_0), compared with llama.cpp. The benchmark converts the given file to these three types, and both sides read the
results. Hone computes the 4-bit file in 4 bits and, as with --quantize 8, in 8 bits.
tools/bench/peers/llama-cpp/install.sh <folder> installs llama.cpp; the interpreter is bin/python in that folder.

  --only <float32|int8|int4>  only this file
  --rounds <count>            number of rounds; the best counts (default 5)
  --threads <count>           number of compute threads on each side (default 2)
  --json                      print JSON
  --help                      print this help`;

/** A model file that both sides read. */
interface SharedFile {
  readonly name: "float32" | "int8" | "int4";
  /** llama.cpp's name for the weight type. */
  readonly type: string;
  /** Precisions with which Hone computes the file's weights. */
  readonly precisions: Readonly<Record<string, Quantization>>;
}

const files: readonly SharedFile[] = [
  { name: "float32", type: "F32", precisions: { float32: "off" } },
  { name: "int8", type: "Q8_0", precisions: { int8: "as-stored" } },
  { name: "int4", type: "Q4_0", precisions: { int4: "as-stored", "4 in 8": "8" } },
];

interface Options {
  readonly python: string;
  readonly model: string;
  readonly rounds: number;
  readonly threads: number;
}

const { values } = parseArgs({
  options: {
    python: { type: "string" },
    model: { type: "string" },
    only: { type: "string" },
    rounds: { type: "string", default: "5" },
    threads: { type: "string", default: "2" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(`${help}\n`);
else if (values.python === undefined || values.model === undefined) {
  process.stderr.write("Both --python and --model are needed; --help says what they are.\n");
  process.exitCode = 2;
} else {
  const { python, model, only, json } = values;
  const options = { python, model, rounds: Number(values.rounds), threads: Number(values.threads) };
  const figures: Figure[] = [];
  for (const shared of files) {
    if (only !== undefined && only !== shared.name) continue;
    const measured = await measure(shared, options);
    figures.push(...measured);
    if (!json) process.stdout.write(`${measured.map((figure) => textOf(figure, "llama.cpp")).join("\n")}\n`);
  }
  if (json) process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
}

async function measure({ type, precisions }: SharedFile, options: Options): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), "llama-cpp-"));
  const file = join(folder, "model.gguf");
  const script = join(ownFolder, "tools", "bench", "peers", "llama-cpp", "side.py");
  const other = new LineProcess([options.python, script]);
  const runners = new Map<string, LineProcess>();
  try {
    const { model: source, threads } = options;
    const rows = Math.max(...batchSizes);
    await other.ask(JSON.stringify({ source, file, type, threads, rows, context: contextCount + 64 }));
    for (const [precision, quantization] of Object.entries(precisions))
      runners.set(precision, await startRunner({ file, folder, threads, quantization }));
    return await takeTurns(runners, other, { promptCount: contextCount, rounds: options.rounds });
  } finally {
    for (const side of [other, ...runners.values()]) side.end();
    rmSync(folder, { recursive: true });
  }
}
