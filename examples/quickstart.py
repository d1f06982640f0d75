"""The example of the README: the best hotel offers of the last second, city by city, from a late and bursty stream."""

import skypane as sp

spark = sp.embedded_session()
stream = spark.readStream.format("skypane-traffic").options(
    arrivals="map", rate=2_000, keys=2, attributes=2, records=6_000
)
offers = stream.load().selectExpr("ts", "key AS city", "round(a0) AS price", "round(a1) AS stars")
query = (
    sp.stream(offers, time="ts", key="city")
    .window("1 second", slide="500 milliseconds")
    .skyline(minimize=["price"], maximize=["stars"])
    .start(sink=sp.ConsoleSink(max_rows=6), available_now=True)
)
query.await_termination()
print(query.metrics().ledger)
