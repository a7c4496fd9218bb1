// Times as people say them.

const STEPS: [number, Intl.RelativeTimeFormatUnit][] = [
  [60, "second"],
  [60, "minute"],
  [24, "hour"],
  [30, "day"],
  [12, "month"],
  [Number.POSITIVE_INFINITY, "year"],
];

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function age(milliseconds: number, now = Date.now()): string {
  let value = Math.min(milliseconds - now, 0) / 1000;
  if (value > -45) return "just now";
  for (const [size, unit] of STEPS) {
    if (Math.abs(value) < size) return relative.format(Math.round(value), unit);
    value /= size;
  }
  return "";
}

export function exactTime(milliseconds: number): string {
  return absolute.format(milliseconds);
}

export function Age({ time }: { time: number }) {
  return (
    <time dateTime={new Date(time).toISOString()} title={exactTime(time)}>
      {age(time)}
    </time>
  );
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
