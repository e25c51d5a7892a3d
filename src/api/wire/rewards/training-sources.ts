// API format of the feedback that a version was trained on.
import { Type } from "typebox";
import { callReference } from "../../../base/domain/recordings/call-reference.ts";
import type { ListedSource } from "../../../base/domain/rewards/training-source.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";

/** A recorded answer that a version was trained on, and the project of the model that gave the answer. */
export const trainingSourceAnswer = answerOf<ListedSource & { readonly projectId: string }>()(
  "TrainingSource",
  {
    id: Type.String({ description: "Cursor of the entry; pass it as `after` to continue after it." }),
    call: [
      Type.String({ description: "Reference of the recorded answer." }),
      (source) => callReference(source, source.choice),
    ],
    step: Type.Integer({ minimum: 0, description: "Version of the model that gave the answer." }),
    reward: orNull(Type.Number(), {
      description: "Reward of the answer; null if people corrected the answer but did not rate it.",
    }),
    people: [
      Type.Integer({ minimum: 1, description: "Number of people whose feedback was used." }),
      ({ peopleCount }) => peopleCount,
    ],
    use: Type.Enum(["trained", "compared"], {
      description:
        "`trained`: the job trained on the answer. `compared`: an earlier job trained on it and no new feedback has arrived since; its reward only counted in the comparison with other answers.",
    }),
    feedback: [
      Type.Array(
        Type.Object({
          id: Type.String(),
          is_new: Type.Boolean({
            description: "True if no earlier job trained on this answer with this feedback.",
          }),
        }),
        { description: "Feedback records that determined the reward or the correction." },
      ),
      ({ feedback }) => feedback.map(({ id, isNew }) => ({ id, is_new: isNew })),
    ],
  },
);
