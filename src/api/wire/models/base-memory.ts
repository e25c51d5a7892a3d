// Answer to a request that loads or unloads a base model.
import { Type } from "typebox";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";
import type { ListedBase } from "./served-model.ts";

export const baseMemoryAnswer = answerOf<{
  readonly name: string;
  readonly presence: ListedBase["presence"] | null;
}>()("BaseMemory", {
  base_model: [Type.String({ description: "Name of the base model." }), ({ name }) => name],
  status: [
    orNull(Type.Enum(["loaded", "loading", "unloaded", "failed"]), {
      description: "State of the model after the request; null if the server no longer serves it.",
    }),
    ({ presence }) => presence?.status ?? null,
  ],
});
