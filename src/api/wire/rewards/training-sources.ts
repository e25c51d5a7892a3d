// The feedback behind a version.
import { Type } from "typebox";
import { callReference } from "../../../base/domain/recordings/call-reference.ts";
import type { ListedSource } from "../../../base/domain/rewards/training-source.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";

/** A source, with the project of the model, whose the answer is. */
export const trainingSourceAnswer = answerOf<ListedSource & { readonly projectId: string }>()(
  "TrainingSource",
  {
    id: Type.String({ description: "What `after` takes." }),
    call: [
      Type.String({ description: "The answer's reference." }),
      (source) => callReference(source, source.choice),
    ],
    step: Type.Integer({ minimum: 0, description: "The version that answered." }),
    reward: orNull(Type.Number(), {
      description: "Null of an answer that people did not rate, but corrected.",
    }),
    people: [
      Type.Integer({ minimum: 1, description: "Whose feedback it trained by." }),
      ({ peopleCount }) => peopleCount,
    ],
    use: Type.Enum(["trained", "compared"], {
      description:
        "`compared` was trained before, and nothing new was said of it; the others were compared with it.",
    }),
    feedback: [
      Type.Array(
        Type.Object({
          id: Type.String(),
          is_new: Type.Boolean({ description: "Whether no earlier version was trained on it, as it was." }),
        }),
        { description: "The records that it trained by." },
      ),
      ({ feedback }) => feedback.map(({ id, isNew }) => ({ id, is_new: isNew })),
    ],
  },
);
