// Formats dates like Python's strftime in the C locale, for templates that show today's date. Always uses UTC, so that
// every replica and the trainer agree. Supports the directives that chat templates use; other directives stay
// unchanged.

const months = "January February March April May June July August September October November December".split(
  " ",
);
const weekdays = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** Formats a date; `%-d` and similar directives omit the leading zero. */
export function strftime(date: Date, format: string): string {
  return format.replaceAll(/%(-?)([a-zA-Z%])/g, (directive, bare: string, letter: string) => {
    const text = field(date, letter);
    if (text === null) return directive;
    return bare === "" ? text : text.replace(/^0+(?=.)/, "");
  });
}

function field(date: Date, letter: string): string | null {
  const hour = date.getUTCHours();
  switch (letter) {
    case "Y":
      return padded(date.getUTCFullYear(), 4);
    case "y":
      return padded(date.getUTCFullYear() % 100, 2);
    case "m":
      return padded(date.getUTCMonth() + 1, 2);
    case "d":
      return padded(date.getUTCDate(), 2);
    case "B":
      return months[date.getUTCMonth()];
    case "b":
      return months[date.getUTCMonth()].slice(0, 3);
    case "A":
      return weekdays[date.getUTCDay()];
    case "a":
      return weekdays[date.getUTCDay()].slice(0, 3);
    case "j":
      return padded(
        (Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()) -
          Date.UTC(date.getUTCFullYear(), 0, 0)) /
          86_400_000,
        3,
      );
    case "H":
      return padded(hour, 2);
    case "I":
      return padded(hour % 12 === 0 ? 12 : hour % 12, 2);
    case "p":
      return hour < 12 ? "AM" : "PM";
    case "M":
      return padded(date.getUTCMinutes(), 2);
    case "S":
      return padded(date.getUTCSeconds(), 2);
    case "Z":
      return "UTC";
    case "z":
      return "+0000";
    case "%":
      return "%";
    default:
      return null;
  }
}

function padded(value: number, width: number): string {
  return String(value).padStart(width, "0");
}
