// A test worker whose vitest is gone would otherwise live on until its test has ended.
process.once('disconnect', () => {
  process.exit(1);
});
