// API format of the hyperparameters of fine-tuning jobs. Each is a number or "auto".
import { Type, type Static, type TSchema } from "typebox";
import { nullable } from "../nullable.ts";

const automatic = Type.Enum(["auto"]);

function autoOr<Schema extends TSchema>(schema: Schema, description: string) {
  return nullable(Type.Union([automatic, schema]), { description, default: "auto" });
}

/** Maximum numbers of epochs, and of examples in a batch. */
const [epochsMax, batchMax] = [1000, 100_000];

const rounds = {
  n_epochs: autoOr(
    Type.Integer({ minimum: 1, maximum: epochsMax }),
    "Number of passes over the training file.",
  ),
  batch_size: autoOr(
    Type.Integer({ minimum: 1, maximum: batchMax }),
    "Number of examples in one optimizer step; for reinforcement, number of items in one step.",
  ),
  learning_rate_multiplier: autoOr(
    Type.Number({ exclusiveMinimum: 0, maximum: 10_000 }),
    "Factor by which the method's usual learning rate is multiplied.",
  ),
};

export const supervisedHyperparameters = Type.Object(rounds, { title: "SupervisedHyperparameters" });

export const dpoHyperparameters = Type.Object(
  {
    ...rounds,
    beta: autoOr(
      Type.Number({ exclusiveMinimum: 0, maximum: 1000 }),
      "Strength with which the model is kept close to its start.",
    ),
  },
  { title: "DpoHyperparameters" },
);

export const reinforcementHyperparameters = Type.Object(
  {
    ...rounds,
    compute_multiplier: autoOr(
      Type.Number({ minimum: 0.25, maximum: 8 }),
      "Factor by which the number of answers sampled for each item is multiplied; 1 means 8 answers.",
    ),
    eval_interval: autoOr(
      Type.Integer({ minimum: 1, maximum: 1_000_000 }),
      "Number of steps between two evaluations on the validation file.",
    ),
    eval_samples: autoOr(
      Type.Integer({ minimum: 1, maximum: 64 }),
      "Number of answers sampled for each item of the validation file in an evaluation.",
    ),
    reasoning_effort: nullable(Type.Enum(["default", "low", "medium", "high"]), {
      description: "Reasoning effort of the sampled answers.",
      default: "default",
    }),
  },
  { title: "ReinforcementHyperparameters" },
);

/** Hyperparameters in a request. For absent, null and "auto", the server chooses the value. */
export type SentHyperparameters = Partial<
  Static<typeof dpoHyperparameters> & Static<typeof reinforcementHyperparameters>
>;
