// Checks whether a remote server can train the adapter that a model requests.
import { projectionNames, type AdapterWish } from "../../../base/domain/model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { serverKinds } from "./server-kinds.ts";
import type { TrainerAddress } from "./trainer-address.ts";

/**
 * Projections that every model on these servers has. A request that lists all of them counts as a request for all
 * projections.
 */
const usualProjections = projectionNames.filter((name) => !/^(?:in_proj|out_proj|per_layer)/.test(name));

/**
 * Refuses adapter settings that the server cannot apply. Servers of this API adapt all projections, and decide the
 * adapter's scale themselves.
 *
 * @param rankOfServer rank of the adapter if the model requests none
 * @throws ServiceError `unsupported` if the model requests a scale or projections that the server does not support
 */
export function requireSupportedAdapter(
  { kind }: Pick<TrainerAddress, "kind">,
  { rank, alpha, targets }: AdapterWish,
  rankOfServer: number,
): void {
  if (targets !== null && usualProjections.some((name) => !targets.includes(name)))
    throw unsupported(`lora_targets ${targets.join(", ")}`, "adapts all projections");
  const { alphaOf } = serverKinds[kind];
  const made = alphaOf?.(rank ?? rankOfServer) ?? null;
  if (alpha === null || alpha === made) return;
  const how = made === null ? "scales adapters by its own configuration" : `uses ${made} for this rank`;
  throw unsupported(`lora_alpha ${alpha}`, how);
}

function unsupported(wish: string, how: string): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message: `The model asks for ${wish}, and the trainer of this server ${how}. Register a model that asks for none.`,
  });
}
