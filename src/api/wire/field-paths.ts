// From the domain's names of fields to where a client sent them, in faults and in texts. The only place that translates.
import { ServiceError } from "../../base/domain/service-error.ts";

/**
 * Where a client sent what an error speaks of: by the domain's name of a field, dotted where it is in a group
 * (`stopping.maxTokens`), or by code for errors that name no field.
 */
export type WirePlaces = Readonly<Record<string, readonly string[]>>;

/** The same error with its faults where the client sent them, and with the wire's names of the fields in its texts. */
export function locate(error: unknown, places: WirePlaces): unknown {
  // A refusal of a kind of its own, such as HTTP's, is in the wire's words already.
  if (!(error instanceof ServiceError) || error.constructor !== ServiceError) return error;
  const { code, retryAfterSeconds, obstacle } = error;
  const message = spelled(error.message, places);
  const place = placeOf(code, places);
  const faults =
    error.faults.length === 0 && place !== undefined
      ? [{ location: place, message, type: code }]
      : error.faults.map((fault) => ({
          location: onWire(fault.location, places),
          message: spelled(fault.message, places),
          type: fault.type,
        }));
  return new ServiceError({
    code,
    message,
    faults,
    cause: error,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(obstacle === undefined ? {} : { obstacle }),
  });
}

/** The same error with its faults elsewhere: where `moved` says that what stands at a place was sent. */
export function relocate(error: unknown, moved: (location: readonly string[]) => readonly string[]): unknown {
  if (!(error instanceof ServiceError) || error.constructor !== ServiceError) return error;
  const { code, message, retryAfterSeconds, obstacle } = error;
  return new ServiceError({
    code,
    message,
    faults: error.faults.map((fault) => ({ ...fault, location: moved(fault.location) })),
    cause: error,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(obstacle === undefined ? {} : { obstacle }),
  });
}

/** A location that begins with a field of the places, which has at most two parts, with the field's place instead. */
function onWire(location: readonly string[], places: WirePlaces): readonly string[] {
  for (const count of [2, 1]) {
    const place = placeOf(location.slice(0, count).join("."), places);
    if (place !== undefined) return [...place, ...location.slice(count)];
  }
  return location;
}

/** Fields in backquotes by the names that the client knows. */
function spelled(text: string, places: WirePlaces): string {
  return text.replaceAll(
    /`([\w.]+)`/g,
    (quoted, field: string) => placeOf(field, places)?.slice(1).join(".") ?? quoted,
  );
}

/** Texts may quote what a client sent, so a name may be anything. */
function placeOf(name: string, places: WirePlaces): readonly string[] | undefined {
  return Object.hasOwn(places, name) ? places[name] : undefined;
}
