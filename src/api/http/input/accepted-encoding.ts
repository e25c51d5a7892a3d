// Chooses the content encoding of an answer by the request's Accept-Encoding (RFC 9110, section 12.5.3).

/**
 * Returns the encoding that the client prefers. Of encodings that the client likes equally, the first one wins.
 *
 * @param offered encodings that the answer can have; `identity` is always possible, and need not be named
 */
export function acceptedEncoding<Encoding extends string>(
  header: string | readonly string[] = "",
  offered: readonly Encoding[],
): Encoding | "identity" {
  const weights = new Map(
    String(header)
      .toLowerCase()
      .split(",")
      .map((entry) => {
        const [name, ...parameters] = entry.split(";").map((part) => part.trim());
        const weight = parameters.find((parameter) => parameter.startsWith("q="));
        // A weight that is not a number counts as 0, so the client gets no encoding that it may not want.
        return [name, weight === undefined ? 1 : Number(weight.slice(2)) || 0] as const;
      }),
  );
  const weightOf = (encoding: string): number => weights.get(encoding) ?? weights.get("*") ?? 0;
  // A client that does not name `identity` accepts it, but prefers each encoding that it names.
  const least = weights.get("identity") ?? 0;
  const liked = offered.filter((encoding) => weightOf(encoding) > 0 && weightOf(encoding) >= least);
  const best = Math.max(...liked.map(weightOf));
  return liked.find((encoding) => weightOf(encoding) === best) ?? "identity";
}
