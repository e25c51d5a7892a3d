// API format of the settings of supervised fine-tuning.
import { Type, type Static } from "typebox";
import {
  resolveSupervisedConfig,
  type SupervisedConfig,
} from "../../../base/domain/supervised/supervised-config.ts";
import type { Findings } from "../../../base/validation/findings.ts";
import { nullable } from "../nullable.ts";
import { foreignOptions, foreignProperties, refuseForeign } from "../training/foreign-options.ts";
import { checkEpochs, passesBody, passesFields, passesForm, toPasses } from "../training/passes-config.ts";

const defaults = resolveSupervisedConfig({});

/** Maximum number of learning rates. */
const ratesMax = 1_000_000;

const rate = Type.Number({ exclusiveMinimum: 0 });

/** Schema of the settings in requests. */
export const supervisedConfigForm = Type.Object(
  {
    ...passesForm(
      defaults,
      "conversations",
      `Number of conversations per optimizer step; \`auto\` means ${defaults.batchSize}.`,
    ),
    learning_rate: nullable(Type.Union([rate, Type.Array(rate, { minItems: 1, maxItems: ratesMax })]), {
      description: "AdamW's learning rate: one number for all steps, or a list with one number per step.",
      default: defaults.learningRate,
    }),
    assistant_turns: nullable(Type.Enum(["all", "last"]), {
      description:
        "Assistant messages that are trained on: all, or only the last message of each conversation, which must then be the assistant's.",
      default: defaults.assistantTurns,
    }),
    metric_logging: nullable(Type.Unknown(), {
      description: "Accepted without effect: each step is an event with its metrics.",
    }),
    ...foreignProperties(foreignOptions.sft),
  },
  { title: "SupervisedConfig" },
);

/** Schema of the settings in jobs as the API shows them. */
export const supervisedConfigSchema = Type.Object(
  {
    ...passesFields,
    learning_rate: Type.Union([rate, Type.Array(rate)]),
    assistant_turns: Type.Enum(["all", "last"]),
  },
  { title: "SupervisedConfigInEffect" },
);

type ConfigBody = Static<typeof supervisedConfigForm>;

/** Names of the known settings. An answer reports all other settings of the request, which have no effect. */
export const supervisedConfigFields: readonly string[] = Object.keys(supervisedConfigForm.properties);

/** Adds faults of the settings that the schema cannot detect. */
export function checkSupervisedConfig(config: unknown, findings: Findings): void {
  refuseForeign(config, foreignOptions.sft, findings, { place: "config" });
  checkEpochs(config, findings);
}

/** Converts checked settings to the domain's form. */
export function toSupervisedConfig(body: ConfigBody): SupervisedConfig {
  return resolveSupervisedConfig({
    ...toPasses(body),
    learningRate: body.learning_rate ?? null,
    assistantTurns: body.assistant_turns ?? null,
  });
}

export function supervisedConfigBody(config: SupervisedConfig): Static<typeof supervisedConfigSchema> {
  return {
    ...passesBody(config),
    learning_rate: typeof config.learningRate === "number" ? config.learningRate : [...config.learningRate],
    assistant_turns: config.assistantTurns,
  };
}
