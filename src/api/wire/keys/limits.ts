// API format of an entity's limits.
import { Type } from "typebox";
import { type KeyLimits, limitFields } from "../../../base/domain/keys/limits.ts";
import { alteration, answerOf, changeRows, shown } from "../fields/resource.ts";

export const entityLimitsForm = alteration("EntityLimitsChange", changeRows(limitFields, "values"), "values");

export const entityLimitsAnswer = answerOf<KeyLimits & { readonly entity: string }>()("EntityLimits", {
  entity: Type.String(),
  ...shown(limitFields),
});
