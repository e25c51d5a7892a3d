// API format of the requests that run and validate graders.
import { Type, type Static } from "typebox";
import type { Grader } from "../../../base/domain/fine-tuning/grader.ts";
import { gradeErrors, type Grade } from "../../../train/graders/grade.ts";
import type { BodyForm } from "../body.ts";
import { nullable, orNull } from "../nullable.ts";

const anyObject = Type.Object({}, { additionalProperties: true });
const grader = Type.Object({}, { additionalProperties: true, description: "The grader." });

const runSchema = Type.Object(
  {
    grader,
    model_sample: Type.String({ maxLength: 1_000_000, description: "The answer to grade." }),
    item: nullable(anyObject, { description: "Item of the data set to which the answer belongs." }),
  },
  { title: "GraderRun" },
);
export const graderRunForm: BodyForm<typeof runSchema> = { schema: runSchema };

const validateSchema = Type.Object({ grader }, { title: "GraderValidate" });
export const graderValidateForm: BodyForm<typeof validateSchema> = { schema: validateSchema };

export const graderValidationSchema = Type.Object({ grader: anyObject });

export const graderRunAnswerSchema = Type.Object(
  {
    reward: Type.Number({ description: "Reward of the answer; 0 after an error." }),
    metadata: Type.Object({
      name: Type.String(),
      type: Type.String(),
      errors: Type.Object({}, { additionalProperties: true, description: "Each error that can occur." }),
      execution_time: Type.Number({ description: "Duration of grading in seconds." }),
      scores: anyObject,
      token_usage: orNull(Type.Integer(), {
        description: "Tokens that judging models took; null if none judged.",
      }),
      sampled_model_name: orNull(Type.String()),
    }),
    sub_rewards: Type.Object(
      {},
      {
        additionalProperties: true,
        description: "Rewards of a multi-grader's graders, by name.",
      },
    ),
    model_grader_token_usage_per_model: anyObject,
  },
  { title: "GraderRunAnswer" },
);

/** Errors of OpenAI's API that cannot occur here. */
const otherErrors = {
  model_grader_refusal_error: false,
  python_grader_runtime_error: false,
  python_grader_runtime_error_details: null,
  python_grader_server_error: false,
  python_grader_server_error_type: null,
  truncated_observation_error: false,
  unresponsive_reward_error: false,
};

export function graderRunBody(
  { name, type }: Grader,
  { reward, subRewards, error, tokens }: Grade,
  durationMs: number,
): Static<typeof graderRunAnswerSchema> {
  const counts = Object.values(tokens);
  return {
    reward,
    metadata: {
      name: name ?? type,
      type,
      errors: {
        ...Object.fromEntries(gradeErrors.map((kind) => [kind, error?.kind === kind])),
        ...otherErrors,
        model_grader_server_error_details: error?.kind === "model_grader_server_error" ? error.message : null,
      },
      execution_time: durationMs / 1000,
      scores: { ...subRewards },
      token_usage: counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0),
      sampled_model_name: null,
    },
    sub_rewards: { ...subRewards },
    model_grader_token_usage_per_model: { ...tokens },
  };
}
