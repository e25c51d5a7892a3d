// Output of `hone models fit`: a table, or JSON.
import { sizeText } from "../../../base/domain/text/size-text.ts";
import type { FitReport, FittedModel, ModelFit } from "../../server/model-fit/fit-models.ts";
import { printRows } from "../connection.ts";

/** Prints a report as a table. */
export function printFits({ machine, models }: FitReport, isList: boolean): void {
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
  process.stdout.write("\nSpeeds are estimates, measured with the load that this machine has now.\n");
}

/**
 * Columns in tokens per second: decoding a single request, decoding eight requests together, and computing a prompt.
 */
const speedColumns = ["tok/s of 1", "tok/s of 8", "prompt tok/s"] as const;

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
  if (count >= 0.9995e9) return `${(count / 1e9).toFixed(1)} B`;
  const millions = count / 1e6;
  return `${millions < 10 ? millions.toFixed(1) : Math.round(millions)} M`;
}

/** Returns a report in the form for `--json`. */
export function fitFields({ machine, models }: FitReport) {
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
