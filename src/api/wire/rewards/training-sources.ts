// Feedback that a version was trained on, as the API lists it.
import { Type } from "typebox";
import { callReference } from "../../../base/domain/recordings/call-reference.ts";
import type { ListedSource } from "../../../base/domain/rewards/training-source.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";

/** An answer that a version was trained on, and the project of the model that gave it. */
export const trainingSourceAnswer = answerOf<ListedSource & { readonly projectId: string }>()(
  "TrainingSource",
  {
    id: Type.String({ description: "Cursor; pass it as `after`." }),
    call: [
      Type.String({ description: "Reference of the answer." }),
      (source) => callReference(source, source.choice),
    ],
    step: Type.Integer({ minimum: 0, description: "Version that answered." }),
    reward: orNull(Type.Number(), {
      description: "Null for an answer that people corrected but did not rate.",
    }),
    people: [
      Type.Integer({ minimum: 1, description: "People whose feedback it trained on." }),
      ({ peopleCount }) => peopleCount,
    ],
    use: Type.Enum(["trained", "compared"], {
      description:
        "`compared`: trained earlier, without new feedback since; the others were compared with it.",
    }),
    feedback: [
      Type.Array(
        Type.Object({
          id: Type.String(),
          is_new: Type.Boolean({
            description: "True if no earlier version was trained on this answer with this feedback.",
          }),
        }),
        { description: "Feedback records that it trained on." },
      ),
      ({ feedback }) => feedback.map(({ id, isNew }) => ({ id, is_new: isNew })),
    ],
  },
);
