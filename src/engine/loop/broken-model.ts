// The error of a model whose scores cannot be used, such as NaN.
import { ServiceError } from "../../domain/service-error.ts";

export function brokenModel(): ServiceError {
  const message = "The model's scores are not finite numbers: this version of the model cannot be used.";
  return new ServiceError({ code: "internal", message });
}
