// The id of a completion: of the request's header, of its body, or the request's own.
import { newUuid } from "../../../base/domain/ids.ts";
import type { WirePlaces } from "../places.ts";

/** The id under which a request is logged and answered. */
export interface RequestId {
  readonly value: string;
  /** The client sent it in the header `x-request-id`; it is a fresh one otherwise. */
  readonly isChosen: boolean;
}

export function freshRequestId(): RequestId {
  return { value: newUuid(), isChosen: false };
}

/** The header's, else the body's, else the request's own: then answer, header and log say the same. */
export function completionId(own: RequestId, inBody: string | undefined): string {
  return own.isChosen ? own.value : (inBody ?? own.value);
}

/** Where a client sent the id that {@link completionId} took. */
export function requestIdPlaces({ isChosen }: RequestId): WirePlaces {
  return { "identity.requestId": isChosen ? ["header", "x-request-id"] : ["body", "request_id"] };
}
