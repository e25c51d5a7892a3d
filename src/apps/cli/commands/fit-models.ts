// `hone models fit`: estimate before a download whether a model suits this machine. Needs no server.
import { type Command, InvalidArgumentError } from "commander";
import { fitFields, printFits } from "./fit-output.ts";
import { printJson } from "../json-output.ts";

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
a sequence of 1,024 tokens: in the rows with 8- or 4-bit weights, of a job with base_precision int8. The speeds follow from
matrix products that the command measures for a few seconds on all threads. They leave out attention, so they are too high for
long contexts; other load on the machine makes them too low.

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
    .action(async (named: string | undefined, { data, threads, context, ...flags }: FitFlags) => {
      const { fitModels } = await import("../../server/model-fit/fit-models.ts");
      process.stderr.write("measuring this machine for a few seconds …\n");
      const report = await fitModels(named ?? null, {
        data: data ?? null,
        threads: threads ?? null,
        contextLength: context,
      });
      if (flags.json === true) printJson(fitFields(report), flags);
      else printFits(report, named === undefined);
    });
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}
