// Finds the settings of a training job that differ from the defaults.
import type { TrainingJob } from "../../base/domain/job.ts";
import { resolvePreferenceConfig } from "../../base/domain/preferences/preference-config.ts";
import { resolveSupervisedConfig } from "../../base/domain/supervised/supervised-config.ts";
import { resolveTrainingConfig } from "../../base/domain/training-config.ts";
import { preferenceConfigBody } from "./preferences/preference-config.ts";
import { supervisedConfigBody } from "./supervised/supervised-config.ts";
import { trainingConfigBody } from "./training/training-config.ts";

/**
 * Returns the names of the settings whose requested values differ from the defaults. Some defaults depend on the loss.
 * The loss counts as changed if it is not the default; the other settings are compared with the defaults for the
 * requested loss.
 */
export function changedSettings(task: TrainingJob["task"]): readonly string[] {
  if (task.kind === "rl") {
    const { ppo } = task.config;
    const changed = differing(
      trainingConfigBody(task.config),
      trainingConfigBody(resolveTrainingConfig({ ppo })),
    );
    return ppo ? ["ppo", ...changed] : changed;
  }
  if (task.kind === "sft")
    return differing(supervisedConfigBody(task.config), supervisedConfigBody(resolveSupervisedConfig({})));
  const { loss } = task.config;
  const changed = differing(
    preferenceConfigBody(task.config),
    preferenceConfigBody(resolvePreferenceConfig({ loss })),
  );
  return loss === "dpo" ? changed : ["loss", ...changed];
}

function differing(settings: object, defaults: object): readonly string[] {
  const usual = new Map<string, unknown>(Object.entries(defaults));
  return Object.entries(settings)
    .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(usual.get(name)))
    .map(([name]) => name);
}
