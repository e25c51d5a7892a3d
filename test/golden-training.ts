// Reads the reference minibatch from test/fixtures/goldens/training in the form that the tests need.
import { readFileSync } from "node:fs";
import { type TrainingConfig, resolveTrainingConfig } from "../src/base/domain/training-config.ts";

export interface GoldenSequence {
  readonly token_ids: readonly number[];
  readonly assistant_mask: readonly number[];
  readonly old_logprobs: readonly (number | null)[];
  readonly group: number;
  readonly reward: number;
}

export interface GoldenCase {
  readonly config: Readonly<Record<string, string | number | boolean>>;
  readonly advantages: readonly number[];
  readonly weights: readonly number[];
  readonly loss: number;
  readonly grad_norm: number;
  readonly per_token_loss: readonly (readonly number[])[];
}

export interface GoldenTraining {
  readonly sequences: readonly GoldenSequence[];
  readonly cases: Readonly<Record<string, GoldenCase>>;
  readonly adamw: {
    readonly learning_rate: number;
    readonly steps: readonly { readonly loss: number; readonly grad_norm_before_clip: number }[];
  };
}

export const goldenTrainingFolder = "test/fixtures/goldens/training";

export function readGoldenTraining(): GoldenTraining {
  return JSON.parse(readFileSync(`${goldenTrainingFolder}/training.json`, "utf8")) as GoldenTraining;
}

/** Converts a golden case's configuration from the API's spelling to the internal one. */
export function goldenConfig(config: GoldenCase["config"]): TrainingConfig {
  const fields: Record<string, string> = { vendor_k2_tau: "k2Tau" };
  const camel = (name: string): string =>
    fields[name] ?? name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return resolveTrainingConfig(
    Object.fromEntries(Object.entries(config).map(([name, value]) => [camel(name), value])),
  );
}
