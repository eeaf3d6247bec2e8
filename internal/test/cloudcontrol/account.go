package cloudcontrol

import (
	"encoding/xml"
	"net/http"
)

// sts answers who a caller is (STS's API reference, GetCallerIdentity).
func (s *Server) sts(w http.ResponseWriter, c *call, accessKey string) {
	c.action = form(c).Get("Action")
	if c.action != "GetCallerIdentity" {
		queryWire{}.fail(w, fault("InvalidAction", "this endpoint answers GetCallerIdentity of STS only, not %s",
			c.action))
		return
	}
	if _, err := s.begin(c); err != nil {
		queryWire{}.fail(w, err)
		return
	}
	queryWire{}.answer(w, "https://sts.amazonaws.com/doc/2011-06-15/", c.action, struct {
		Arn, UserId, Account string
	}{"arn:aws:iam::" + c.scope.Account + ":user/engine", accessKey, c.scope.Account})
}

// ec2 answers which regions there are (EC2's API reference, DescribeRegions).
func (s *Server) ec2(w http.ResponseWriter, c *call) {
	c.action = form(c).Get("Action")
	if c.action != "DescribeRegions" {
		queryWire{}.fail(w, fault("InvalidAction", "this endpoint answers DescribeRegions of EC2 only, not %s",
			c.action))
		return
	}
	if _, err := s.begin(c); err != nil {
		queryWire{}.fail(w, err)
		return
	}
	type region struct {
		Name     string `xml:"regionName"`
		Endpoint string `xml:"regionEndpoint"`
		Status   string `xml:"optInStatus"`
	}
	var regions []region
	for _, name := range s.options.Regions {
		regions = append(regions, region{name, "ec2." + name + ".amazonaws.com", "opt-in-not-required"})
	}
	w.Header().Set("Content-Type", "text/xml")
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName   xml.Name `xml:"http://ec2.amazonaws.com/doc/2016-11-15/ DescribeRegionsResponse"`
		RequestID string   `xml:"requestId"`
		Regions   []region `xml:"regionInfo>item"`
	}{RequestID: w.Header().Get("X-Amzn-Requestid"), Regions: regions})
}
