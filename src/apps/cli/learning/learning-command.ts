// `hone learning`: turns the learning of a model on and off, and shows what the model learned from whom.
import { type Command, InvalidArgumentError } from "commander";
import { invalid } from "../../../base/domain/service-error.ts";
import type { LearningSettings } from "../../client/api.ts";
import { addConnectionFlags, connect, type ConnectionFlags, printResult, printRows } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { findNamed } from "../names/named-version.ts";
import { addTermFlags, hasTerms, readTerms, type TermFlags } from "../rules/term-flags.ts";
import { cycleRow, learningLines } from "./learning-lines.ts";

type Flags = ConnectionFlags & JsonFlag;

interface OnFlags extends Flags, TermFlags {
  readonly judge?: string;
  readonly rubric?: string;
  readonly nextMessages?: boolean;
  readonly signalsMin?: number;
  readonly secondsBetween?: number;
  readonly heldOut?: number;
  readonly promptsMin?: number;
  readonly margin?: number;
  readonly rollbackSeconds?: number;
  readonly learningRate?: number;
  readonly epochs?: number;
}

export function addLearningCommand(program: Command): void {
  const learning = program
    .command("learning")
    .description("Let a model learn from feedback on its answers while people use it.");
  addOnCommand(learning);
  addConnectionFlags(
    learning.command("off <model>").description("Turn the learning of a model off; its versions are kept."),
  )
    .option("--json", "print JSON")
    .action(async (name: string, flags: Flags) => {
      const client = connect(flags);
      const { model } = await findNamed(client, name);
      printResult(await client.learning.turnOff(model.id), `learning of ${name} is off`, flags);
    });
  addConnectionFlags(
    learning
      .command("show <model>")
      .description("Show the settings, the state and the newest cycle of a model."),
  )
    .option("--json", "print JSON")
    .action(async (name: string, flags: Flags) => {
      const client = connect(flags);
      const state = await client.learning.get((await findNamed(client, name)).model.id);
      printResult(state, learningLines(state).join("\n"), flags);
    });
  addConnectionFlags(
    learning
      .command("list <model>")
      .description(
        "List the learning cycles of a model: who gave the signals, the scores, and the decision.",
      ),
  )
    .option("--json", "print JSON")
    .action(async (name: string, flags: Flags) => {
      const client = connect(flags);
      const { data } = await client.learning.cycles((await findNamed(client, name)).model.id).first();
      const columns = ["began", "stage", "versions", "signals", "people", "score", "reason"];
      printRows(flags.json === true ? data.map((one) => ({ ...one })) : data.map(cycleRow), {
        ...flags,
        columns,
      });
    });
}

function addOnCommand(learning: Command): void {
  addTermFlags(
    addConnectionFlags(
      learning
        .command("on <model>")
        .description(
          "Turn the learning of a model on, or replace its settings; the default ratings are 👍 and 👎.",
        ),
    ),
  )
    .option("--judge <model>", "model that judges answers to held-out prompts")
    .option("--rubric <text>", "rubric that the judge follows; required with --judge")
    .option("--next-messages", "also learn from the user's next message, which the judge reads")
    .option("--signals-min <count>", "number of new feedback records that start a job (default 16)", asNumber)
    .option("--seconds-between <seconds>", "minimum time between two cycles (default 3600)", asNumber)
    .option(
      "--held-out <share>",
      "share of the conversations that serves only for evaluation (default 0.2)",
      asNumber,
    )
    .option(
      "--prompts-min <count>",
      "minimum number of held-out prompts with which a job starts (default 4)",
      asNumber,
    )
    .option(
      "--margin <number>",
      "amount by which a candidate's score may be below the current version's (default 0.02)",
      asNumber,
    )
    .option(
      "--rollback-seconds <seconds>",
      "time after a promotion in which bad ratings restore the earlier version; 0 disables this (default 3600)",
      asNumber,
    )
    .option("--learning-rate <number>", "learning rate of the jobs", asNumber)
    .option("--epochs <count>", "passes of each job over its data", asNumber)
    .option("--json", "print JSON")
    .action(async (name: string, flags: OnFlags) => {
      const settings = settingsOf(flags);
      const client = connect(flags);
      const state = await client.learning.turnOn((await findNamed(client, name)).model.id, settings);
      printResult(state, learningLines(state).join("\n"), flags);
    });
}

function settingsOf(flags: OnFlags): LearningSettings {
  const { judge, rubric } = flags;
  if ((judge === undefined) !== (rubric === undefined))
    throw invalid("--judge and --rubric belong together; give both, or neither.");
  if (flags.nextMessages === true && judge === undefined)
    throw invalid("--next-messages needs a judge; name one with --judge and --rubric.");
  const config = {
    ...(flags.learningRate === undefined ? {} : { learning_rate: flags.learningRate }),
    ...(flags.epochs === undefined ? {} : { epochs: flags.epochs }),
  };
  return {
    ...(flags.nextMessages === true ? { signals: ["ratings", "edits", "next_message"] } : {}),
    ...(hasTerms(flags) ? { ratings: [...readTerms(flags)] } : {}),
    ...(judge === undefined || rubric === undefined ? {} : { judge: { model: judge, rubric } }),
    signals_min: flags.signalsMin ?? null,
    seconds_between: flags.secondsBetween ?? null,
    held_out_share: flags.heldOut ?? null,
    prompts_min: flags.promptsMin ?? null,
    margin: flags.margin ?? null,
    rollback_seconds: flags.rollbackSeconds ?? null,
    ...(Object.keys(config).length === 0 ? {} : { config }),
  };
}

function asNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new InvalidArgumentError("It must be a number.");
  return value;
}
