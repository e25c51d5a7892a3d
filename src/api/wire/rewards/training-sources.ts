// The feedback behind a version.
import { Type } from "typebox";
import { callReference } from "../../../base/domain/recordings/call-reference.ts";
import type { ListedSource } from "../../../base/domain/rewards/training-source.ts";
import { orNull } from "../nullable.ts";
import { pageSchema } from "../page.ts";

const sourceSchema = Type.Object(
  {
    id: Type.String({ description: "What `after` takes." }),
    call: Type.String({ description: "The answer's reference." }),
    step: Type.Integer({ minimum: 0, description: "The version that answered." }),
    reward: orNull(Type.Number(), {
      description: "Null of an answer that people did not rate, but corrected.",
    }),
    people: Type.Integer({ minimum: 1, description: "Whose feedback it trained by." }),
    use: Type.Enum(["trained", "compared"], {
      description:
        "`compared` was trained before, and nothing new was said of it; the others were compared with it.",
    }),
    feedback: Type.Array(
      Type.Object({
        id: Type.String(),
        is_new: Type.Boolean({ description: "Whether no earlier version was trained on it, as it was." }),
      }),
      { description: "The records that it trained by." },
    ),
  },
  { title: "TrainingSource" },
);
export const trainingSourcePageSchema = pageSchema(sourceSchema);

/** @param projectId of the model, whose the answer is */
export function trainingSourceBody(projectId: string) {
  return ({ id, requestId, choice, step, reward, peopleCount, use, feedback }: ListedSource): object => ({
    id,
    call: callReference({ projectId, requestId }, choice),
    step,
    reward,
    people: peopleCount,
    use,
    feedback: feedback.map((record) => ({ id: record.id, is_new: record.isNew })),
  });
}
