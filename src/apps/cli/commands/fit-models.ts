// `hone models fit`: estimate whether a model suits this machine, before a download. Needs no server.
import { type Command, InvalidArgumentError } from "commander";
import { sizeText } from "../../../base/domain/text/size-text.ts";
import type { FitReport, FittedModel, ModelFit } from "../../server/model-fit/fit-models.ts";
import { printRows } from "../connection.ts";

interface FitFlags {
  readonly data?: string;
  readonly threads?: number;
  readonly context: number;
  readonly json?: boolean;
}

const about = `
Without a model, the command estimates models that people often run, computed with 8-bit weights. With a model (a name on the
Hugging Face hub, a folder, a GGUF file or an added model), it estimates that model in each precision. From the hub, it
downloads only the configuration, or the beginning of a GGUF file.

"serving" is the maximum memory for 8 concurrent requests of --context tokens. "training" is the peak memory of a LoRA job with
a sequence of 1,024 tokens. The speeds follow from matrix products that the command measures for a few seconds on all threads.
They leave out attention, so they are too high for long contexts; other load on the machine makes them too low.

  hone models fit unsloth/Qwen3-4B-GGUF:Q4_K_M`;

export function addFitCommand(models: Command): void {
  models
    .command("fit [model]")
    .description("Estimate the memory and the speed of a model on this machine, before a download.")
    .option(
      "--context <tokens>",
      "length of each request, prompt and answer together",
      wholeNumber(16, 2 ** 20),
      4096,
    )
    .option("--threads <count>", "compute threads (default: one per core)", wholeNumber(1, 1024))
    .option("--data <folder>", "the data folder (HONE_DATA; default .hone)")
    .option("--json", "print JSON")
    .addHelpText("after", about)
    .action(async (named: string | undefined, { data, threads, context, json }: FitFlags) => {
      const { fitModels } = await import("../../server/model-fit/fit-models.ts");
      if (process.stderr.isTTY) process.stderr.write("measuring this machine …\n");
      const report = await fitModels(named ?? null, {
        data: data ?? null,
        threads: threads ?? null,
        contextLength: context,
      });
      if (json === true) process.stdout.write(`${JSON.stringify(fieldsOf(report), null, 2)}\n`);
      else print(report, named === undefined);
    });
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

function print({ machine, models }: FitReport, isList: boolean): void {
  process.stdout.write(`this machine: ${sizeText(machine.memoryBytes)} of memory\n`);
  if (!isList)
    for (const { name, parameterCount, contextLength, downloadBytes } of models)
      process.stdout.write(
        `${name}: ${countText(parameterCount)} parameters, context ${contextLength} tokens${downloadBytes ? `, download ${sizeText(downloadBytes)}` : ""}\n`,
      );
  process.stdout.write("\n");
  const first = isList ? ["model", "parameters"] : ["quantize", "precision"];
  printRows(
    models.flatMap((model) => model.fits.map((fit) => rowOf(model, fit))),
    { columns: [...first, "weights", "serving", "training", ...speedColumns, "suits"] },
  );
}

const speedColumns = ["tokens/s", "8 requests", "prompt"] as const;

function rowOf({ name, parameterCount }: FittedModel, fit: ModelFit) {
  const { speed } = fit;
  const rates = speed === null ? [] : [speed.one, speed.several, speed.prompt];
  return {
    model: name,
    parameters: countText(parameterCount),
    quantize: fit.quantize,
    precision: fit.precision,
    weights: sizeText(fit.weightBytes),
    serving: sizeText(fit.servingBytes),
    training: sizeText(fit.trainingBytes),
    ...Object.fromEntries(speedColumns.map((column, index) => [column, rateText(rates[index])])),
    suits: suitsText(fit),
  };
}

function rateText(rate: number): string {
  return rate < 10 ? rate.toFixed(1) : String(Math.round(rate));
}

function suitsText({ isServable, isTrainable }: ModelFit): string {
  if (!isServable) return "no: too little memory";
  return isTrainable ? "serving, training" : "serving";
}

function countText(count: number): string {
  return count < 0.9995e9 ? `${Math.round(count / 1e6)} M` : `${(count / 1e9).toFixed(1)} B`;
}

function fieldsOf({ machine, models }: FitReport) {
  return {
    memory_bytes: machine.memoryBytes,
    models: models.map(({ name, parameterCount, contextLength, downloadBytes, fits }) => ({
      name,
      parameters: parameterCount,
      context_length: contextLength,
      download_bytes: downloadBytes,
      precisions: fits.map(({ quantize, precision, speed, ...fit }) => ({
        quantize,
        precision,
        weight_bytes: fit.weightBytes,
        serving_bytes: fit.servingBytes,
        training_bytes: fit.trainingBytes,
        tokens_per_second: speed && { one: speed.one, eight_requests: speed.several, prompt: speed.prompt },
        is_servable: fit.isServable,
        is_trainable: fit.isTrainable,
      })),
    })),
  };
}
