// Replaces the domain's field names in faults and messages by the fields that the client knows. No other module does
// this.
import { ServiceError } from "../../base/domain/service-error.ts";
import { summary } from "../../base/validation/findings.ts";

/**
 * Location in the request of each field, keyed by the domain's name for the field. Names within a group are dotted
 * (`stopping.maxTokens`). An error that names no field is looked up by its code.
 */
export type FieldPaths = Readonly<Record<string, readonly string[]>>;

/**
 * Translates an error for the client: fault locations become the client's paths, and field names in messages become the
 * client's names.
 */
export function locate(error: unknown, fieldPaths: FieldPaths): unknown {
  // Subclasses of ServiceError, such as those that the HTTP layer throws, already use the client's names.
  if (!(error instanceof ServiceError) || error.constructor !== ServiceError) return error;
  const { code, retryAfterSeconds, obstacle } = error;
  const message = translateFieldNames(error.message, fieldPaths);
  const place = fieldPathOf(code, fieldPaths);
  const faults =
    error.faults.length === 0 && place !== undefined
      ? [{ location: place, message, type: code }]
      : error.faults.map((fault) => ({
          location: toClientPath(fault.location, fieldPaths),
          message: translateFieldNames(fault.message, fieldPaths),
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

/**
 * Replaces each fault's location by the result of `moved`, also where the fault's message contains it. Returns the new
 * error.
 */
export function relocate(error: unknown, moved: (location: readonly string[]) => readonly string[]): unknown {
  if (!(error instanceof ServiceError) || error.constructor !== ServiceError) return error;
  const { code, retryAfterSeconds, obstacle } = error;
  const faults = error.faults.map((fault) => ({ ...fault, location: moved(fault.location) }));
  return new ServiceError({
    code,
    message: error.message === summary(error.faults) ? summary(faults) : error.message,
    faults,
    cause: error,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(obstacle === undefined ? {} : { obstacle }),
  });
}

/**
 * Replaces the domain's field name at the beginning of a location by the field's path in the request. A field name
 * takes the first one or two parts of the location.
 */
function toClientPath(location: readonly string[], fieldPaths: FieldPaths): readonly string[] {
  for (const count of [2, 1]) {
    const place = fieldPathOf(location.slice(0, count).join("."), fieldPaths);
    if (place !== undefined) return [...place, ...location.slice(count)];
  }
  return location;
}

/** Replaces the domain's field names in a text, where they are in backquotes, by the client's names. */
function translateFieldNames(text: string, fieldPaths: FieldPaths): string {
  return text.replaceAll(
    /`([\w.]+)`/g,
    (quoted, field: string) => fieldPathOf(field, fieldPaths)?.slice(1).join(".") ?? quoted,
  );
}

/**
 * Returns the path of a field; undefined for an unknown name. Ignores inherited properties such as `constructor`: a
 * message may contain any text of the client in backquotes.
 */
function fieldPathOf(name: string, fieldPaths: FieldPaths): readonly string[] | undefined {
  return Object.hasOwn(fieldPaths, name) ? fieldPaths[name] : undefined;
}
