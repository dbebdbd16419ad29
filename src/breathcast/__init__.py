"""breathcast forecasts the positions of breathing markers. Research use only; not a medical device."""
