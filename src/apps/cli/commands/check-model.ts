// `hone models check`: describe a model and measure its size in memory. Also measures the error of its quantized
// weights compared with float32. Needs no server.
import { Option, type Command } from "commander";
import { kernelsText } from "../../../base/domain/kernels/integer-kernels.ts";
import { quantizations, type Quantization } from "../../../base/domain/model.ts";
import type { CheckedModel, CheckedPrecision } from "../../server/model-check/check-model.ts";
import { sizeText } from "../../../base/domain/text/size-text.ts";
import { printRows } from "../connection.ts";
import { printJson } from "../json-output.ts";

interface CheckFlags {
  readonly data?: string;
  readonly threads?: number;
  readonly quantize?: Quantization;
  readonly json?: boolean;
}

const about = `
The command computes the same text of about 2,000 tokens in each precision and in float32, and compares the
probabilities of the next token. Below its table, it explains the columns.

  hone models check ./SmolLM2-135M-Instruct.Q4_1.gguf`;

/** Explanation of the table's columns. */
const legend = `
weights:     size of the weights in memory
perplexity:  exp of the mean of -log p over the tokens of a text of about 2,000 tokens, and its change from float32
KL:          divergence of the next token's probabilities from those in float32, in nats per token
same token:  how often the most probable next token is the same as in float32
kept finer:  weights that keep more bits than the precision in the row has
`;

export function addCheckCommand(models: Command): void {
  models
    .command("check <model>")
    .description(
      "Describe a model (folder, GGUF file or added model), and measure its size and its error against float32 in each precision.",
    )
    .option("--data <folder>", "the data folder (HONE_DATA; default .hone)")
    .option("--threads <count>", "compute threads (default: one per core)", Number)
    .addOption(
      new Option(
        "--quantize <bits>",
        "precision to check (default: all; precisions that give this model the same weights are checked once)",
      ).choices(quantizations),
    )
    .option("--json", "print JSON")
    .addHelpText("after", about)
    .action(async (named: string, flags: CheckFlags) => {
      const { checkModel } = await import("../../server/model-check/check-model.ts");
      const onCompare = (precision: string): void => {
        if (process.stderr.isTTY) process.stderr.write(`comparing ${precision} with float32 …\n`);
      };
      const { data = null, threads = null, quantize = null } = flags;
      const checked = await checkModel(named, { data, threads, quantize, onCompare });
      const { model, precisions, kernels } = checked;
      if (flags.json === true) {
        const { codes, fourBits, rates } = kernels;
        const shown = {
          ...fieldsOf(model),
          kernels: {
            codes,
            four_bits: fourBits,
            rates: rates.map(({ form, rows, gigaOps }) => ({ form, rows, giga_ops: gigaOps })),
          },
          precisions: precisions.map(precisionFields),
        };
        printJson(shown, flags);
        return;
      }
      process.stdout.write(`${describeModel(model)}\nthis machine ${kernelsText(kernels)}\n\n`);
      printRows(precisions.map(precisionRow), {
        columns: [
          "quantize",
          "precision",
          "weights",
          "perplexity",
          "KL mean",
          "KL max",
          "same token",
          "kept finer",
        ],
      });
      process.stdout.write(legend);
    });
}

function describeModel(model: CheckedModel): string {
  const { name, family, license, parameterCount, layerCount, width, vocabularySize } = model;
  return [
    `${name}: ${family}, ${(parameterCount / 1e6).toFixed(1)} M parameters (${layerCount} layers of ${width}, vocabulary ${vocabularySize})`,
    `context ${model.contextLength} tokens; files ${sizeText(model.fileBytes)}; licence ${license ?? "unknown"}`,
  ].join("\n");
}

function fieldsOf(model: CheckedModel) {
  return {
    name: model.name,
    family: model.family,
    license: model.license,
    parameters: model.parameterCount,
    layers: model.layerCount,
    width: model.width,
    vocabulary_size: model.vocabularySize,
    context_length: model.contextLength,
    file_bytes: model.fileBytes,
  };
}

function precisionFields({ quantize, precision, weightBytes, forms, finer, comparison }: CheckedPrecision) {
  return {
    quantize,
    precision,
    weight_bytes: weightBytes,
    forms,
    kept_finer: finer,
    comparison: comparison && {
      tokens: comparison.tokenCount,
      float32_perplexity: comparison.perplexity.reference,
      perplexity: comparison.perplexity.other,
      kl_mean: comparison.divergence.mean,
      kl_max: comparison.divergence.max,
      same_greedy_share: comparison.sameGreedyShare,
    },
  };
}

function precisionRow({ quantize, precision, weightBytes, finer, comparison }: CheckedPrecision) {
  const common = { quantize, precision, weights: sizeText(weightBytes), "kept finer": groups(finer) };
  if (comparison === null) return common;
  const { perplexity, divergence, sameGreedyShare } = comparison;
  const change = 100 * (perplexity.other / perplexity.reference - 1);
  return {
    ...common,
    perplexity: `${perplexity.other.toFixed(2)} (${change < 0 ? "" : "+"}${change.toFixed(2)} %)`,
    "KL mean": divergence.mean.toExponential(1),
    "KL max": divergence.max.toPrecision(2),
    "same token": `${(100 * sameGreedyShare).toFixed(1)} %`,
  };
}

/** Formats weight names grouped by kind, each kind with its number of layers; null if there are no names. */
function groups(names: readonly string[]): string | null {
  const counts = new Map<string, number>();
  for (const name of names) {
    const kind = name.split(".").at(-2) ?? name;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const texts = [...counts].map(([kind, count]) => (count === 1 ? kind : `${count} ${kind}`));
  return texts.length === 0 ? null : texts.join(", ");
}
